// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/bench/dispatch.h"

#include "libsten/compute/linalg/dense_gemm.h"
#include "libsten/compute/ops/common/operators.h"
#include "libsten/compute/product/sparse_product.h"
#include "libsten/core/base/parallel.h"
#include "libsten/programs/bench/bench_layout.h"
#include "libsten/programs/bench/input.h"

namespace sten {
namespace {

BenchRow call(const BenchOptions& o) {
  static const Name op("bench.nothing");
  operators().add({op, {"dense"}, {{}}}, [](const Call& c) -> Outputs { return {c.in[0]}; });
  const Tensor x = Dense::of({1}, {1});
  const Attributes none;
  constexpr int calls = 10000;
  set_threads(1);
  const auto seconds = time_interleaved({[&] {
                                          const OutFormat* formats[] = {&OutFormat::dense()};
                                          for (int i = 0; i < calls; ++i)
                                            run(op, {std::span(&x, 1), formats, none});
                                        }},
                                        {.repeats = o.repeats, .threads = 1});
  BenchRow row;
  row.bench = "dispatch";
  row.form = "call";
  row.shape = {1};
  row.layout = "dense";
  row.seconds = median(seconds[0]) / calls;
  row.repeats = static_cast<int>(seconds[0].size());
  return row;
}

void measure(const Shape& shape, const BenchLayout& layout, int threads, const BenchOptions& o,
             std::vector<BenchRow>& rows) {
  set_threads(threads);
  const Index m = shape[0], k = shape[1], n = shape[2];
  const Dense dense = layout.prepare(bench_input("normal", {m, k}, o.seed));
  const bool is_dense = layout.layout.is(Dense::name);
  const Tensor w = is_dense ? Tensor(dense) : layout.convert(dense);
  const Tensor x = bench_input("normal", {n, k}, o.seed + 1);
  const float* in = x.values()->as<float>().data();
  const auto bare = [&] {
    Values y = Values::uninitialized(DType::F32, n * m);
    float* to = y.mutate<float>().data();
    if (is_dense)
      dense_linear(n, m, k, in, w.values()->as<float>().data(), to);
    else
      sparse_linear(w, n, in, to);
  };
  const auto plain = [&] { linear(x, w); };
  const auto taped = [&] {
    Tape tape;
    linear(Var(x), tape.parameter(w));
  };
  const auto seconds =
      time_interleaved({bare, plain, taped}, {.repeats = o.repeats, .threads = threads});
  for (const int variant : {1, 2}) {
    BenchRow row;
    row.bench = "dispatch";
    row.form = variant == 1 ? "linear" : "taped";
    row.shape = shape;
    row.layout = layout.name;
    row.threads = threads;
    row.seconds = median(seconds[variant]);
    row.ratio = speedup(seconds[0], seconds[variant]);
    row.repeats = static_cast<int>(seconds[variant].size());
    rows.push_back(row);
  }
}

}  // namespace

std::vector<BenchRow> bench_dispatch(const BenchOptions& o) {
  std::vector<Shape> shapes;
  for (const std::string& s : o.shapes) shapes.push_back(parse_bench_shape(s, 3));
  std::vector<BenchLayout> layouts;
  for (const std::string& l : o.layouts) layouts.push_back(BenchLayout::parse(l));
  std::vector<BenchRow> rows{call(o)};
  for (const Shape& shape : shapes)
    for (const BenchLayout& layout : layouts)
      for (const int threads : o.threads) measure(shape, layout, threads, o, rows);
  return rows;
}

}  // namespace sten
