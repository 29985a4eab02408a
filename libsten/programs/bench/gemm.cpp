// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/bench/gemm.h"

#include <fmt/ranges.h>
#include <algorithm>
#include <map>

#include "libsten/compute/product/sparse_product.h"
#include "libsten/core/base/log.h"
#include "libsten/core/base/parallel.h"
#include "libsten/core/layout/compressed.h"
#include "libsten/programs/bench/burst.h"
#include "libsten/programs/bench/cold_caches.h"
#include "libsten/programs/bench/precision.h"
#include "libsten/programs/bench/product.h"

namespace sten {
namespace {

// The least share of the peak that a good dense library reaches.
constexpr double good = 0.8;

struct Group {
  std::string form;
  Shape shape;  // M, K, N
  int threads;

  std::string text() const {
    return fmt::format("{} {}, {} thread{}", form, fmt::join(shape, "x"), threads,
                       threads == 1 ? "" : "s");
  }
};

// The variants of one group and their rows.
class Variants {
 public:
  Variants(const Group& group, const BenchOptions& o)
      : group_(group), repeats_(o.repeats), product_(group.form, group.shape, o.seed) {
    set_threads(group.threads);
  }

  void add_dense(std::vector<std::string>& notes, const std::vector<DType>& precisions);
  void add_layout(const BenchLayout& layout);
  void add_bf16(const BenchLayout& layout, std::vector<std::string>& notes);
  // Rows, with the fastest dense one in float32 first.
  std::vector<BenchRow> measure(DensePeak& best, std::vector<std::string>& notes);

 private:
  // Extra work of a row's first product.
  struct Pack {
    std::size_t row;
    int weights;
    std::function<void()> variant;
  };

  BenchRow& add(std::string layout, std::string library, DType precision, double flops,
                std::function<void()> variant, const std::vector<Dense>& weights, bool has_error);
  void add_sparse(const BenchLayout& layout, const std::string& library,
                  BenchProduct::Sparse sparse, DType precision = DType::F32);
  void add_rival(const BenchLayout& layout, const SparseRival& rival);
  void add_low(DType precision, std::vector<std::string>& notes);

  std::optional<std::size_t> own_dense(const std::string& precision) const;
  // The fastest dense row of a library in a precision.
  std::optional<std::size_t> fastest_dense(DType precision) const;
  bool is_dense(std::size_t row) const {
    return rows_[row].layout == "dense" && !rows_[row].library.empty();
  }

  Group group_;
  std::optional<int> repeats_;
  BenchProduct product_;
  std::vector<std::function<void()>> variants_;
  std::vector<BenchRow> rows_;
  std::vector<Pack> packs_;
  std::vector<std::vector<double>> seconds_;
};

BenchRow& Variants::add(std::string layout, std::string library, DType precision, double flops,
                        std::function<void()> variant, const std::vector<Dense>& weights,
                        bool has_error) {
  BenchRow& row = rows_.emplace_back();
  row.bench = "gemm";
  row.form = group_.form;
  row.shape = group_.shape;
  row.layout = std::move(layout);
  row.library = std::move(library);
  row.precision = precision_name(precision);
  row.threads = group_.threads;
  row.gflops = flops / 1e9;  // divided by the time at the end
  variant();
  if (has_error) row.error = product_.error(weights);
  variants_.push_back(std::move(variant));
  return row;
}

void Variants::add_sparse(const BenchLayout& layout, const std::string& library,
                          BenchProduct::Sparse sparse, DType precision) {
  add(layout.name, library, precision, sparse.flops, std::move(sparse.run), sparse.dense,
      !sparse.dense.empty());
  if (sparse.pack) packs_.push_back({rows_.size() - 1, sparse.packed, std::move(sparse.pack)});
}

void Variants::add_rival(const BenchLayout& layout, const SparseRival& rival) {
  try {
    add_sparse(layout, rival.name, product_.sparse(layout, rival, group_.threads));
  } catch (const Error& e) {
    warn("{} {}: not measured: {}", group_.form, layout.name, e.what());
  }
}

// Adds variants with the weight as given and in the library's own order.
void Variants::add_low(DType precision, std::vector<std::string>& notes) {
  const auto all = product_.dense_low(precision, group_.threads);
  for (const BenchProduct::Low& low : all)
    add("dense", low.library, precision, product_.dense_flops(), low.run, {}, true).kernel =
        low.kernel + (low.packs ? ", weight packed" : "");
  if (!all.empty()) return;
  const DenseLibrary* library = find_dense_library("onednn");
  const std::string why = !library ? std::string("oneDNN not found")
                                   : fmt::format("{} has no such product with {}", library->name,
                                                 kernels::name_of(kernels::active_isa()));
  notes.push_back(fmt::format("{}: dense in {} is not measured: {}", group_.form,
                              precision_name(precision), why));
}

void Variants::add_dense(std::vector<std::string>& notes, const std::vector<DType>& precisions) {
  for (const DenseLibrary& library : dense_libraries())
    add("dense", library.name, DType::F32, product_.dense_flops(),
        product_.dense(library, group_.threads), {}, true);
  for (const DType p : precisions)
    if (p != DType::F32) add_low(p, notes);
}

void Variants::add_layout(const BenchLayout& layout) {
  add_sparse(layout, "", product_.sparse(layout));
  if (product_.is_forward() && layout.layout.is(Csr::name) &&
      kernels::active_isa() != kernels::Isa::reference)
    for (const SparseRival& rival : sparse_rivals()) add_rival(layout, rival);
}

void Variants::add_bf16(const BenchLayout& layout, std::vector<std::string>& notes) {
  if (auto product = product_.own_bf16(layout))
    add_sparse(layout, "", *std::move(product), DType::BF16);
  else
    notes.push_back(fmt::format("{}: {} has no product in bf16", group_.form, layout.name));
}

std::optional<std::size_t> Variants::own_dense(const std::string& precision) const {
  for (std::size_t i = 0; i < rows_.size(); ++i)
    if (rows_[i].layout == "dense" && rows_[i].library.empty() && rows_[i].precision == precision)
      return i;
  return std::nullopt;
}

std::optional<std::size_t> Variants::fastest_dense(DType precision) const {
  std::optional<std::size_t> fastest;
  for (std::size_t i = 0; i < rows_.size(); ++i)
    if (is_dense(i) && rows_[i].precision == precision_name(precision) &&
        (!fastest || median(seconds_[i]) < median(seconds_[*fastest])))
      fastest = i;
  return fastest;
}

std::vector<BenchRow> Variants::measure(DensePeak& best, std::vector<std::string>& notes) {
  std::vector<std::function<void()>> variants = variants_;
  for (const Pack& pack : packs_) variants.push_back(pack.variant);
  std::map<std::string, Burst> bursts;
  for (const DType p : bench_precisions)
    if (multiplies(p) && std::ranges::count(rows_, precision_name(p), &BenchRow::precision))
      bursts.emplace(precision_name(p), Burst(p, group_.threads));
  for (const auto& [name, burst] : bursts) variants.push_back([&burst = burst] { burst.run(); });
  TimingOptions timing{.repeats = repeats_, .threads = group_.threads};
  std::optional<ColdCaches> cold;
  if (ColdCaches::are_asked(group_.shape)) {
    timing.before = [&cold = cold.emplace()] { cold.sweep(); };
    notes.push_back(
        fmt::format("{}: weights come from memory: {} MB are read before each repetition",
                    group_.text(), cold->bytes() >> 20));
  }
  seconds_ = time_interleaved(variants, timing);

  std::map<std::string, double> peaks;
  std::size_t variant = variants.size() - bursts.size();
  for (const auto& [name, burst] : bursts)
    peaks[name] = burst.flops() / median(seconds_[variant++]) / 1e9;
  const std::size_t baseline = *fastest_dense(DType::F32);
  const auto to = [&](DType precision, std::size_t row) -> std::optional<double> {
    const auto dense = fastest_dense(precision);
    if (!dense) return std::nullopt;
    return speedup(seconds_[*dense], seconds_[row]).median;
  };
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    BenchRow& row = rows_[i];
    row.seconds = median(seconds_[i]) / product_.products();
    row.gflops = *row.gflops / row.seconds;
    if (const auto peak = peaks.find(row.precision); peak != peaks.end())
      row.of_peak = *row.gflops / peak->second;
    row.ratio = speedup(seconds_[baseline], seconds_[i]);
    row.to_bf16 = to(DType::BF16, i);
    row.to_float16 = to(DType::F16, i);
    row.to_int8 = to(DType::I8, i);
    if (const auto own = own_dense(row.precision))
      row.to_own = speedup(seconds_[*own], seconds_[i]).median;
    row.repeats = static_cast<int>(seconds_[i].size());
  }
  for (std::size_t i = 0; i < packs_.size(); ++i) {
    BenchRow& row = rows_[packs_[i].row];
    const auto& taken = seconds_[rows_.size() + i];
    row.pack_seconds = median(taken) / packs_[i].weights;
    row.pack_products =
        speedup(taken, seconds_[packs_[i].row]).median * product_.products() / packs_[i].weights;
  }
  const double reached = *rows_[baseline].gflops, peak = peaks.at("float32");
  if (reached < good * peak)
    warn(
        "{}: {} reaches {:.1f} of {:.1f} GFLOP/s: with a faster dense product, the ratios would be "
        "smaller",
        group_.text(), rows_[baseline].library, reached, peak);
  if (reached > best.gflops) best = {peak, rows_[baseline].library, reached};

  std::vector<BenchRow> out{rows_[baseline]};
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    // Keeps only the fastest variant of a library in a low precision.
    const bool is_low = is_dense(i) && rows_[i].precision != "float32";
    if (i == baseline || (is_low && fastest_dense(precision_from(rows_[i].precision)) != i))
      continue;
    if (is_low)
      notes.push_back(fmt::format("{}: dense in {} by {}: {}", group_.text(), rows_[i].precision,
                                  rows_[i].library, rows_[i].kernel));
    out.push_back(rows_[i]);
  }
  return out;
}

}  // namespace

std::vector<BenchRow> bench_gemm(const BenchOptions& o, DensePeak& best,
                                 std::vector<std::string>& notes) {
  std::vector<Shape> shapes;
  for (const std::string& s : o.shapes) shapes.push_back(parse_bench_shape(s, 3));
  std::vector<BenchLayout> layouts;
  for (const std::string& text : o.layouts) {
    layouts.push_back(BenchLayout::parse(text));
    const std::string name = layouts.back().layout.name();
    if (name == "dense")  // always measured
      layouts.pop_back();
    else if (!has_sparse_product(name))
      fail_usage("gemm: no product found for {} with dense (expected one of {})", name,
                 fmt::join(sparse_product_layouts(), ", "));
  }
  for (const std::string& form : o.forms) BenchProduct(form, {1, 1, 1}, 0);
  const AskedPrecisions precisions(o.precisions, notes);
  std::vector<BenchRow> rows;
  for (const std::string& form : o.forms)
    for (const Shape& shape : shapes)
      for (const int threads : o.threads) {
        const Group group{form, shape, threads};
        Variants variants(group, o);
        variants.add_dense(notes, precisions.dense);
        if (precisions.has_dense(DType::BF16))
          variants.add_bf16(BenchLayout::parse("dense"), notes);
        for (const BenchLayout& layout : layouts) {
          if (precisions.has(DType::F32, layout.layout)) variants.add_layout(layout);
          if (precisions.has(DType::BF16, layout.layout)) variants.add_bf16(layout, notes);
        }
        const std::vector<BenchRow> measured = variants.measure(best, notes);
        notes.push_back(name_fastest(group.text(), measured));
        rows.insert(rows.end(), measured.begin(), measured.end());
      }
  return rows;
}

DensePeak measure_dense_peak(int threads) {
  BenchProduct product("gemm", {384, 1024, 1024}, 0);
  const Burst burst(DType::F32, threads);
  std::vector<std::function<void()>> variants;
  for (const DenseLibrary& library : dense_libraries())
    variants.push_back(product.dense(library, threads));
  variants.push_back([&] { burst.run(); });
  const auto seconds = time_interleaved(variants, {.repeats = 5, .threads = threads});
  DensePeak out{burst.flops() / median(seconds.back()) / 1e9, "", 0};
  for (std::size_t i = 0; i + 1 < variants.size(); ++i) {
    const double gflops = product.dense_flops() / median(seconds[i]) / 1e9;
    if (gflops > out.gflops) out = {out.peak_gflops, dense_libraries()[i].name, gflops};
  }
  return out;
}

}  // namespace sten
