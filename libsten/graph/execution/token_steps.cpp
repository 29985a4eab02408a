#include "libsten/graph/execution/token_steps.h"

#include <algorithm>
#include <functional>

#include "kernels/panels.h"
#include "libsten/base/parallel.h"
#include "libsten/base/scratch.h"
#include "libsten/layout/masked.h"
#include "libsten/product/dense_panels.h"
#include "libsten/product/tiles.h"

namespace sten::execution {
namespace {

// f(number of a panel, its tokens) for those of the group, on threads().
template <class F>
void each_panel(Index tokens, F&& f) {
  const auto some = [&](Index begin, Index end) {
    for (Index p = begin; p < end; ++p) f(p, std::min(panel_width, tokens - p * panel_width));
  };
  parallel_for(panels_of(tokens), 1, std::cref(some));
}

const float* floats_of(const Tensor& t) { return t.values()->as<float>().data(); }

// What is beyond the last token shall be numbers that are fast to compute with.
void rows_to_panel(const float* rows, Index tokens, Index features, float* panel, Index lanes) {
  if (tokens < lanes) std::fill_n(panel, features * lanes, 0.0f);
  transpose_tiles(rows, features, tokens, features, panel, lanes);
}

}  // namespace

ProductStep::ProductStep(Tensor w) : weight(std::move(w)), shape_(weight.shape()) {
  if (!has_dense_values(weight)) sparse.emplace(weight);
}

void ProductStep::run(const TokenGroup& g) const {
  const Activations from{g.form(), in(), g.count, g.at[x]};
  const ActivationsOut to{g.form(), out(), g.count, g.at[y]};
  const Epilogue epilogue{1, bias ? floats_of(*bias) : nullptr,
                          residual ? g.at[*residual] : nullptr, activation, stream};
  if (sparse)
    sparse->multiply(from, to, epilogue);
  else
    dense_panels_product(out(), in(), floats_of(weight), from, to, epilogue);
}

void NormalizeStep::run(const TokenGroup& g) const {
  const float *scale = floats_of(gamma), *shift = floats_of(beta);
  const Index size = features * g.lanes;
  each_panel(g.count, [&](Index p, Index) {
    kernels::panels(g.lanes).normalize(g.at[x] + p * size, features, eps, scale, shift,
                                       g.at[y] + p * size);
  });
}

void AddStep::run(const TokenGroup& g) const {
  const Index size = features * g.lanes;
  each_panel(g.count, [&](Index p, Index) {
    const float *from = g.at[a] + p * size, *other = g.at[b] + p * size;
    float* to = g.at[y] + p * size;
    for (Index i = 0; i < size; ++i) to[i] = from[i] + other[i];
  });
}

void MapStep::run(const TokenGroup& g) const {
  const Index size = features * g.lanes;
  each_panel(g.count, [&](Index p, Index) { f(g.at[x] + p * size, size, g.at[y] + p * size); });
}

const float* EmbedStep::row(const Table& table, Index token) const {
  Index at = 0;
  for (std::size_t d = extents.size(); d-- > 0; token /= extents[d])
    at += token % extents[d] * table.steps[d];
  const Index id = table.is_wide ? reinterpret_cast<const std::int64_t*>(table.ids)[at]
                                 : reinterpret_cast<const std::int32_t*>(table.ids)[at];
  return floats_of(table.rows) + id * features;
}

void EmbedStep::run(const TokenGroup& g) const {
  each_panel(g.count, [&](Index p, Index tokens) {
    thread_local Scratch memory;
    float* sums = memory.of(panel_width * features);
    for (Index t = 0; t < tokens; ++t) {
      float* to = sums + t * features;
      const Index token = g.first + p * panel_width + t;
      std::copy_n(row(tables[0], token), features, to);
      for (std::size_t i = 1; i < tables.size(); ++i) {
        const float* from = row(tables[i], token);
        for (Index f = 0; f < features; ++f) to[f] += from[f];
      }
    }
    rows_to_panel(sums, tokens, features, g.at[y] + p * features * g.lanes, g.lanes);
  });
}

void LoadStep::run(const TokenGroup& g) const {
  const float* from = rows + g.first * features;
  each_panel(g.count, [&](Index p, Index tokens) {
    rows_to_panel(from + p * panel_width * features, tokens, features,
                  g.at[y] + p * features * g.lanes, g.lanes);
  });
}

void StoreStep::run(const TokenGroup& g) const {
  float* to = rows + g.first * features;
  each_panel(g.count, [&](Index p, Index tokens) {
    transpose_tiles(g.at[x] + p * features * g.lanes, g.lanes, features, tokens,
                    to + p * panel_width * features, features);
  });
}

}  // namespace sten::execution
