// SPDX-License-Identifier: Apache-2.0
// Dense products in low precision, and errors of products.
#include <algorithm>
#include <cmath>

#include "kernels/interleaved.h"
#include "libsten/compute/linalg/onednn_product.h"
#include "libsten/compute/ops/common/elements.h"
#include "libsten/compute/product/bf16_packed.h"
#include "libsten/compute/product/bf16_product.h"
#include "libsten/compute/product/bf16_small_batch.h"
#include "libsten/programs/bench/product.h"

namespace sten {
namespace {

// A matrix in a precision; I8 has a scale per row or per column.
struct Rounded {
  Array<std::byte> bytes;
  std::vector<float> scales{};
};

Rounded in_int8(const Dense& x, bool by_row) {
  const Index rows = x.extents[0], cols = x.extents[1];
  const float* from = x.values.as<float>().data();
  const auto group = [&](Index r, Index c) { return by_row ? r : c; };
  Rounded out{Array<std::byte>(rows * cols), std::vector<float>(by_row ? rows : cols)};
  for (Index r = 0; r < rows; ++r)
    for (Index c = 0; c < cols; ++c)
      out.scales[group(r, c)] = std::max(out.scales[group(r, c)], std::abs(from[r * cols + c]));
  for (float& s : out.scales) s = s > 0 ? s / 127 : 1;
  std::byte* to = out.bytes.mutate();
  for (Index r = 0; r < rows; ++r)
    for (Index c = 0; c < cols; ++c)
      to[r * cols + c] = static_cast<std::byte>(
          static_cast<std::int8_t>(std::lrint(from[r * cols + c] / out.scales[group(r, c)])));
  return out;
}

Rounded rounded(const Dense& x, DType precision, bool by_row) {
  if (precision == DType::I8) return in_int8(x, by_row);
  const Index n = x.size();
  Rounded out{Array<std::byte>::uninitialized(n * width_of(precision))};
  std::byte* to = out.bytes.mutate();
  if (precision == DType::BF16) {
    const float* from = x.values.as<float>().data();
    for (Index i = 0; i < n; ++i)
      reinterpret_cast<std::uint16_t*>(to)[i] = kernels::round_to_bf16(from[i]);
  } else {
    const Values values = as_dtype("sten-bench", x.values, precision);
    std::ranges::copy(values.bytes(), to);
  }
  return out;
}

// Operands of dense_low().
struct LowPrecisionOperands {
  std::vector<Rounded> weights;
  Rounded start, other;
};

}  // namespace

std::vector<BenchProduct::Low> BenchProduct::dense_low(DType precision, int threads) {
  const bool is_gemm = form_ == "gemm", is_chain = form_ == "chain";
  if (precision == DType::I8 && !is_gemm && form_ != "linear") return {};
  const DenseLibrary* library = find_dense_library("onednn");
  if (!library) return {};
  const auto numbers = std::make_shared<LowPrecisionOperands>();
  for (int i = 0; i < weights(); ++i)
    numbers->weights.push_back(rounded(weights_[i], precision, true));
  numbers->start = rounded(start_, precision, !is_gemm);
  if (form_ == "sampled") numbers->other = rounded(other_, precision, true);

  LowProduct p{.m = m_, .n = n_, .k = k_, .factors = precision, .threads = threads};
  p.constant = is_gemm ? Transpose::a : form_ == "sampled" ? Transpose::none : Transpose::b;
  if (form_ == "transposed") {
    p.m = n_, p.n = k_, p.k = m_;
  } else if (form_ == "sampled") {
    p.transposed = Transpose::b;
    p.n = k_, p.k = n_;
  } else if (!is_gemm) {
    p.transposed = Transpose::b;
    p.m = n_, p.n = m_;
  }
  if (precision == DType::I8) {
    const auto& of_weight = numbers->weights[0].scales;
    p.rows = (is_gemm ? of_weight : numbers->start.scales).data();
    p.columns = (is_gemm ? numbers->start.scales : of_weight).data();
  }
  std::vector<LowProduct> kinds{p};
  if (is_chain) {
    if (precision != DType::F32) kinds[0].result = precision;
    kinds.push_back(kinds[0]);
    std::swap(kinds[1].n, kinds[1].k);
    kinds.push_back(kinds[1]);
    kinds[2].result = DType::F32;
  }
  std::vector<std::vector<std::shared_ptr<OnednnProduct>>> found;
  for (const LowProduct& kind : kinds) {
    found.push_back(OnednnProduct::find(kind));
    if (found.back().empty()) return {};
  }
  std::vector<Low> all;
  for (std::size_t variant = 0; variant < found[0].size(); ++variant) {
    std::vector<std::shared_ptr<OnednnProduct>> chosen;  // of a chain by weight, and the last one
    bool packs = false;
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      chosen.push_back(found[i][std::min(variant, found[i].size() - 1)]);
      packs = packs || chosen[i]->packs();
      chosen[i]->pack(numbers->weights[i == 0 ? 0 : weights() - 1].bytes.data());
    }
    std::string kernel = chosen[0]->kernel();
    const auto run = [this, numbers, chosen = std::move(chosen), is_gemm, is_chain] {
      const auto weight = [&](int i) { return numbers->weights[i].bytes.data(); };
      const void* start = numbers->start.bytes.data();
      if (is_gemm) return chosen[0]->run(weight(0), start, out(0));
      if (form_ == "sampled") return chosen[0]->run(start, numbers->other.bytes.data(), out(0));
      for (int i = 0; i < products(); ++i) {
        const bool is_last = is_chain && i + 1 == products();
        chosen[is_last ? 2 : i % 2]->run(i == 0 ? start : in(i), weight(i % 2), out(i));
      }
    };
    all.push_back({library->name, std::move(kernel), packs, run});
  }
  return all;
}

std::optional<BenchProduct::Sparse> BenchProduct::own_bf16(const BenchLayout& layout) {
  if (!is_forward()) return std::nullopt;
  struct Memory {
    std::vector<Tensor> weights;
    Rounded start;
    Array<std::uint16_t> interleaved[3];  // of the start, and alternating results of a chain
  };
  const auto memory = std::make_shared<Memory>();
  double stored = 0;
  const int count = weights();
  std::vector<Dense> dense;
  for (int i = 0; i < count; ++i) {
    memory->weights.push_back(layout.convert(layout.prepare(weights_[i])));
    stored += static_cast<double>(memory->weights.back().stored().count()) / count;
    dense.push_back(memory->weights.back().to_dense());
  }
  memory->start = rounded(start_, DType::BF16, true);
  const bool is_small_batch = n_ <= bf16_max_small_batch;
  if (is_small_batch) memory->interleaved[0] = Array<std::uint16_t>(interleaved_size(k_, n_));
  if (form_ == "chain") {
    memory->interleaved[1] = Array<std::uint16_t>(interleaved_size(m_, n_));
    memory->interleaved[2] = Array<std::uint16_t>(interleaved_size(k_, n_));
  }
  const ActivationLayout form =
      form_ == "gemm" ? ActivationLayout::features : ActivationLayout::tokens;
  const auto run = [this, memory, is_small_batch, form] {
    const auto* start = reinterpret_cast<const std::uint16_t*>(memory->start.bytes.data());
    const Activations16 x{form, k_, n_, start};
    Array<std::uint16_t>* interleaved = memory->interleaved;
    if (is_small_batch) to_interleaved(x, {k_, n_, interleaved[0].mutate()});
    for (int i = 0; i < products(); ++i) {
      const Tensor& a = memory->weights[static_cast<std::size_t>(i % 2)];
      const Shape shape = a.shape();
      const auto multiply = [&](const auto& y) {
        const Interleaved in{shape[1], n_, interleaved[i == 0 ? 0 : 2 - i % 2].data()};
        if (is_small_batch)
          bf16_small_batch_product(a, in, y);
        else if (i == 0)
          bf16_product(a, x, y);
        else
          bf16_product(a, in, y);
      };
      if (i + 1 == products())
        multiply(ActivationsOut{form, shape[0], n_, out(i)});
      else
        multiply(InterleavedOut{shape[0], n_, interleaved[1 + i % 2].mutate()});
    }
  };
  std::function<void()> pack;
  if (!is_small_batch)
    pack = [memory] {
      for (const Tensor& a : memory->weights) pack_bf16(a);
    };
  return Sparse{run, pack, count, 2 * stored * static_cast<double>(n_), std::move(dense)};
}

double BenchProduct::error(const std::vector<Dense>& given) const {
  constexpr Index most = 8;
  const bool is_gemm = form_ == "gemm", is_sampled = form_ == "sampled";
  const Index tokens = is_sampled ? m_ : n_, picked = std::min(tokens, most);
  const auto token = [&](Index p) { return p * (tokens - 1) / std::max<Index>(picked - 1, 1); };
  std::vector<double> x, y;  // [features][picked]
  const Index first = start_.extents[is_gemm ? 0 : 1];
  const float* start = start_.values.as<float>().data();
  x.assign(first * most, 0);
  for (Index f = 0; f < first; ++f)
    for (Index p = 0; p < picked; ++p)
      x[f * most + p] = is_gemm ? start[f * n_ + token(p)] : start[token(p) * first + f];
  for (int i = 0; i < products(); ++i) {
    const Dense& w = is_sampled ? other_ : given.empty() ? weights_[i % 2] : given[i % 2];
    const float* a = w.values.as<float>().data();
    const Index rows = w.extents[0], cols = w.extents[1];
    const bool transposed = form_ == "transposed";
    y.assign((transposed ? cols : rows) * most, 0);
    for (Index r = 0; r < rows; ++r)
      for (Index c = 0; c < cols; ++c) {
        const double v = a[r * cols + c];
        double* to = &y[(transposed ? c : r) * most];
        const double* from = &x[(transposed ? r : c) * most];
        for (Index p = 0; p < most; ++p) to[p] += v * from[p];
      }
    std::swap(x, y);
  }
  const Index features = static_cast<Index>(x.size()) / most;
  const int last = products() - 1;
  const float* got = last % 2 ? even_.data() : odd_.data();
  double off = 0, largest = 0;
  for (Index f = 0; f < features; ++f)
    for (Index p = 0; p < picked; ++p) {
      const double wanted = x[f * most + p];
      const double is = is_gemm ? got[f * n_ + token(p)] : got[token(p) * features + f];
      // NaN is an infinite error.
      off = std::isnan(is - wanted) ? INFINITY : std::max(off, std::abs(is - wanted));
      largest = std::max(largest, std::abs(wanted));
    }
  return largest > 0 ? off / largest : off;
}

}  // namespace sten
