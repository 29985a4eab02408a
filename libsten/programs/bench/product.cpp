// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/bench/product.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "libsten/compute/product/sampled_product.h"
#include "libsten/compute/product/sparse_product.h"
#include "libsten/core/base/hints.h"
#include "libsten/core/base/random.h"
#include "libsten/core/layout/nmg.h"
#include "libsten/programs/bench/input.h"

namespace sten {
namespace {

// N(0, 1) divided by the root of the columns, so that the values of a chain stay in range.
Dense weight(Index rows, Index cols, std::uint64_t seed) {
  Dense w = bench_input("normal", {rows, cols}, seed);
  const float scale = 1 / std::sqrt(static_cast<float>(cols));
  for (float& v : w.values.mutate<float>()) v *= scale;
  return w;
}

}  // namespace

BenchProduct::BenchProduct(const std::string& form, const Shape& shape, std::uint64_t seed)
    : form_(form), m_(shape[0]), k_(shape[1]), n_(shape[2]) {
  const std::vector<std::string> forms{"gemm", "linear", "chain", "transposed", "sampled"};
  if (std::ranges::find(forms, form) == forms.end())
    fail_usage("--form: {}", unknown_name("form", form, forms));
  weights_[0] = weight(m_, k_, seed_for(seed, "weight"));
  if (form == "chain") weights_[1] = weight(k_, m_, seed_for(seed, "second weight"));
  const Shape start = form == "gemm"         ? Shape{k_, n_}
                      : form == "transposed" ? Shape{n_, m_}
                      : form == "sampled"    ? Shape{m_, n_}
                                             : Shape{n_, k_};
  start_ = bench_input("normal", start, seed_for(seed, "activations"));
  if (form == "sampled") other_ = bench_input("normal", {k_, n_}, seed_for(seed, "other"));
  odd_ = Array<float>(form == "sampled"      ? m_ * k_
                      : form == "transposed" ? n_ * k_
                                             : panels_size(m_, n_));
  if (form == "chain") even_ = Array<float>(panels_size(k_, n_));
}

const float* BenchProduct::in(int i) const {
  return i == 0 ? start_.values.as<float>().data() : i % 2 ? odd_.data() : even_.data();
}
float* BenchProduct::out(int i) { return i % 2 ? even_.mutate() : odd_.mutate(); }

std::function<void()> BenchProduct::dense(const DenseLibrary& library, int threads) {
  return [this, &library, threads] {
    const float* a = weights_[0].values.as<float>().data();
    if (form_ == "gemm") {
      library.multiply(Transpose::none, m_, n_, k_, a, in(0), out(0), threads);
      return;
    }
    if (form_ == "transposed") {
      library.multiply(Transpose::none, n_, k_, m_, in(0), a, out(0), threads);
      return;
    }
    if (form_ == "sampled") {
      library.multiply(Transpose::b, m_, k_, n_, in(0), other_.values.as<float>().data(), out(0),
                       threads);
      return;
    }
    for (int i = 0; i < products(); ++i) {
      const Dense& w = weights_[i % 2];
      library.multiply(Transpose::b, n_, w.extents[0], w.extents[1], in(i),
                       w.values.as<float>().data(), out(i), threads);
    }
  };
}

std::function<void()> BenchProduct::sparse_run(std::shared_ptr<const std::vector<Tensor>> weights) {
  return [this, weights] {
    const Tensor& first = weights->front();
    if (form_ == "gemm") return sparse_gemm(first, n_, in(0), out(0));
    if (form_ == "transposed") return sparse_transposed_linear(first, n_, in(0), out(0));
    if (form_ == "sampled") {
      sampled_gemm(first, n_, in(0), other_.values.as<float>().data());
      return;
    }
    // Between products, a chain has activations in the layout of products.
    for (int i = 0; i < products(); ++i) {
      const Tensor& a = (*weights)[i % 2];
      const Shape shape = a.shape();
      const ActivationLayout from = i > 0 ? ActivationLayout::panels : ActivationLayout::tokens;
      const ActivationLayout to =
          i + 1 < products() ? ActivationLayout::panels : ActivationLayout::tokens;
      sparse_product(a, {from, shape[1], n_, in(i)}, {to, shape[0], n_, out(i)});
    }
  };
}

BenchProduct::Sparse BenchProduct::sparse(const BenchLayout& layout) {
  auto tensors = std::make_shared<std::vector<Tensor>>();
  double stored = 0;
  const int count = weights();
  for (int i = 0; i < count; ++i) {
    tensors->push_back(layout.convert(layout.prepare(weights_[i])));
    stored += static_cast<double>(tensors->back().stored().count()) / count;
  }
  std::function<void()> pack;
  if (is_forward())
    pack = [this, tensors] {
      for (const Tensor& t : *tensors) repack(t, n_);
    };
  std::vector<Dense> dense;
  if (form_ != "sampled")
    for (const Tensor& t : *tensors) dense.push_back(t.to_dense());
  return {sparse_run(tensors), pack, count, 2 * stored * static_cast<double>(n_), std::move(dense)};
}

BenchProduct::Sparse BenchProduct::sparse(const BenchLayout& layout, const SparseRival& rival,
                                          int threads) {
  auto pruned = std::make_shared<std::vector<Dense>>();
  double stored = 0;
  for (int i = 0; i < weights(); ++i) {
    pruned->push_back(layout.prepare(weights_[i]));
    stored += static_cast<double>(nonzero_mask(pruned->back()).count()) / weights();
  }
  const auto prepare = [this, pruned, rival, threads](int i) {
    const Dense& a = (*pruned)[i];
    return rival.prepare(a.values.as<float>().data(), a.extents[0], a.extents[1], n_,
                         form_ != "gemm", threads);
  };
  std::vector<SparseRival::Product> ready;
  for (int i = 0; i < weights(); ++i) {
    ready.push_back(prepare(i));
    ready[i](in(i), out(i));
    const Dense& a = (*pruned)[i];
    check_product(rival.name, a.values.as<float>().data(), a.extents[0], a.extents[1], n_,
                  form_ != "gemm", in(i), out(i));
  }
  const auto run = [this, ready] {
    for (int i = 0; i < products(); ++i) ready[i % ready.size()](in(i), out(i));
  };
  const auto pack = [this, prepare] {
    for (int i = 0; i < weights(); ++i) prepare(i);
  };
  return {run, pack, weights(), 2 * stored * static_cast<double>(n_), *pruned};
}

}  // namespace sten
