#include "libsten/bench/gemm.h"

#include <fmt/ranges.h>
#include <algorithm>

#include "kernels/peak.h"
#include "libsten/base/log.h"
#include "libsten/base/parallel.h"
#include "libsten/bench/product.h"
#include "libsten/layout/compressed.h"
#include "libsten/product/sparse_product.h"

namespace sten {
namespace {

// The least part of the peak that a good dense library reaches.
constexpr double good = 0.8;
// FMAs on so many threads, about 2 ms of them.
class Burst {
 public:
  explicit Burst(int threads) : threads_(threads) {
    while (seconds_of([&] { flops_ = kernels::peak().run_fmas(rounds_); }, 1) < 2e-3) rounds_ *= 2;
  }
  double flops() const { return flops_ * threads_; }
  void run() const {
    parallel_for(threads_, 1, [this](Index begin, Index end) {
      for (Index i = begin; i < end; ++i) kernels::peak().run_fmas(rounds_);
    });
  }

 private:
  int threads_;
  std::int64_t rounds_ = 1 << 10;
  double flops_ = 0;  // of one thread
};

struct Group {
  std::string form;
  Shape shape;  // M, K, N
  int threads;
};

// What a row's first product does beside.
struct Pack {
  std::size_t row;
  int weights;
  std::function<void()> way;
};

std::vector<BenchRow> measure(const Group& group, const std::vector<BenchLayout>& layouts,
                              const BenchOptions& o, DensePeak& best) {
  set_threads(group.threads);
  BenchProduct product(group.form, group.shape, o.seed);
  const std::vector<DenseLibrary>& libraries = dense_libraries();
  const Burst burst(group.threads);
  std::vector<std::function<void()>> ways;
  std::vector<BenchRow> rows;
  std::vector<Pack> packs;
  const auto add = [&](std::string layout, std::string library, double flops,
                       std::function<void()> way) {
    BenchRow& row = rows.emplace_back();
    row.bench = "gemm";
    row.form = group.form;
    row.shape = group.shape;
    row.layout = std::move(layout);
    row.library = std::move(library);
    row.threads = group.threads;
    row.gflops = flops / 1e9;  // over the time, below
    ways.push_back(std::move(way));
  };
  const auto add_sparse = [&](const BenchLayout& layout, const std::string& library,
                              BenchProduct::Sparse sparse) {
    add(layout.name, library, sparse.flops, std::move(sparse.run));
    if (sparse.pack) packs.push_back({rows.size() - 1, sparse.packed, std::move(sparse.pack)});
  };
  const auto add_rival = [&](const BenchLayout& layout, const SparseRival& rival) {
    try {
      add_sparse(layout, rival.name, product.sparse(layout, rival, group.threads));
    } catch (const Error& e) {
      warn("{} {}: {}; it is not measured", group.form, layout.name, e.what());
    }
  };
  for (const DenseLibrary& library : libraries)
    add("dense", library.name, product.dense_flops(), product.dense(library, group.threads));
  for (const BenchLayout& layout : layouts) {
    add_sparse(layout, "", product.sparse(layout));
    if (product.is_forward() && layout.layout.is(Csr::name) &&
        kernels::active_isa() != kernels::Isa::reference)
      for (const SparseRival& rival : sparse_rivals()) add_rival(layout, rival);
  }
  for (const Pack& pack : packs) ways.push_back(pack.way);
  ways.push_back([&] { burst.run(); });
  const auto seconds = take_turns(ways, {.repeats = o.repeats, .threads = group.threads});

  std::size_t fastest = 0;
  for (std::size_t i = 1; i < libraries.size(); ++i)
    if (median(seconds[i]) < median(seconds[fastest])) fastest = i;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].seconds = median(seconds[i]) / product.products();
    rows[i].gflops = *rows[i].gflops / rows[i].seconds;
    rows[i].ratio = speedup(seconds[fastest], seconds[i]);
    rows[i].repeats = static_cast<int>(seconds[i].size());
  }
  for (std::size_t i = 0; i < packs.size(); ++i) {
    BenchRow& row = rows[packs[i].row];
    const auto& taken = seconds[rows.size() + i];
    row.pack_seconds = median(taken) / packs[i].weights;
    row.pack_products =
        speedup(taken, seconds[packs[i].row]).median * product.products() / packs[i].weights;
  }
  const double reached = *rows[fastest].gflops, peak = burst.flops() / median(seconds.back()) / 1e9;
  if (reached < good * peak)
    warn(
        "{} {}, {} thread{}: {} reaches {:.1f} of {:.1f} GFLOP/s: a faster dense product may be "
        "possible, to which the ratios would be smaller",
        group.form, fmt::join(group.shape, "x"), group.threads, group.threads == 1 ? "" : "s",
        rows[fastest].library, reached, peak);
  if (reached > best.gflops) best = {peak, rows[fastest].library, reached};
  std::rotate(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(fastest),
              rows.begin() + static_cast<std::ptrdiff_t>(fastest) + 1);
  return rows;
}

}  // namespace

std::vector<BenchRow> bench_gemm(const BenchOptions& o, DensePeak& best) {
  std::vector<Shape> shapes;
  for (const std::string& s : o.shapes) shapes.push_back(parse_bench_shape(s, 3));
  std::vector<BenchLayout> layouts;
  for (const std::string& text : o.layouts) {
    layouts.push_back(BenchLayout::parse(text));
    const std::string name = layouts.back().layout.name();
    if (name == "dense")  // is measured in any case
      layouts.pop_back();
    else if (!has_sparse_product(name))
      fail_usage("gemm: there is no product of {} with dense; there is one of {}", name,
                 fmt::join(sparse_product_layouts(), ", "));
  }
  for (const std::string& form : o.forms) BenchProduct(form, {1, 1, 1}, 0);
  std::vector<BenchRow> rows;
  for (const std::string& form : o.forms)
    for (const Shape& shape : shapes)
      for (const int threads : o.threads)
        for (BenchRow& row : measure({form, shape, threads}, layouts, o, best))
          rows.push_back(std::move(row));
  return rows;
}

DensePeak measure_dense_peak(int threads) {
  BenchProduct product("gemm", {384, 1024, 1024}, 0);
  const Burst burst(threads);
  std::vector<std::function<void()>> ways;
  for (const DenseLibrary& library : dense_libraries())
    ways.push_back(product.dense(library, threads));
  ways.push_back([&] { burst.run(); });
  const auto seconds = take_turns(ways, {.repeats = 5, .threads = threads});
  DensePeak out{burst.flops() / median(seconds.back()) / 1e9, "", 0};
  for (std::size_t i = 0; i + 1 < ways.size(); ++i) {
    const double gflops = product.dense_flops() / median(seconds[i]) / 1e9;
    if (gflops > out.gflops) out = {out.peak_gflops, dense_libraries()[i].name, gflops};
  }
  return out;
}

}  // namespace sten
