// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/execution/token_instructions.h"

#include <algorithm>

#include "kernels/panels.h"
#include "kernels/rows.h"
#include "libsten/compute/linalg/dense_gemm.h"
#include "libsten/compute/product/dense_panels.h"
#include "libsten/compute/product/single_token.h"
#include "libsten/compute/product/tiles.h"
#include "libsten/core/base/scratch.h"
#include "libsten/core/layout/masked.h"
#include "libsten/model/execution/interleaved_rows.h"

namespace sten::execution {
namespace {

const float* floats_of(const Tensor& t) { return t.values()->as<float>().data(); }

// Lanes after the last token get values that are fast to compute with.
void rows_to_panel(const float* rows, Index tokens, Index features, float* panel, Index lanes) {
  if (tokens < lanes) std::fill_n(panel, features * lanes, 0.0f);
  transpose_tiles(rows, features, tokens, features, panel, lanes);
}

}  // namespace

Float32ProductInstruction::Float32ProductInstruction(Tensor w) : ProductInstruction(std::move(w)) {
  if (!has_dense_values(weight)) sparse.emplace(weight);
}

void Float32ProductInstruction::run(const TokenGroup& g) const {
  const Activations from{g.layout(), in(), g.count, g.at[x]};
  const ActivationsOut to{g.layout(), out(), g.count, g.at[y]};
  const Epilogue epilogue{1, bias ? floats_of(*bias) : nullptr,
                          residual ? g.at[*residual] : nullptr, activation, stream};
  if (sparse)
    sparse->multiply(from, to, epilogue);
  else if (g.lanes == 1)
    multiply_token(g, epilogue);
  else
    dense_panels_product(out(), in(), floats_of(weight), from, to, epilogue);
}

void Float32ProductInstruction::multiply_token(const TokenGroup& g,
                                               const Epilogue& epilogue) const {
  thread_local Scratch memory;
  float* const sums = memory.of(std::max<Index>(1, out()));
  dense_vector_product(out(), in(), floats_of(weight), g.at[x], sums);
  write_token(sums, out(), ActivationsOut{g.layout(), out(), 1, g.at[y]}, epilogue);
}

void normalize_panel(const float* x, Index features, Index lanes, float eps, const float* gamma,
                     const float* beta, float* y) {
  if (lanes > 1) return kernels::panels(lanes).normalize(x, features, eps, gamma, beta, y);
  const kernels::RowsTable& rows = kernels::rows();
  rows.normalize(rows.moments(x, features, eps), x, features, gamma, beta, y);
}

void NormalizeInstruction::run(const TokenGroup& g) const {
  const float *scale = floats_of(gamma), *shift = floats_of(beta);
  const Index size = features * g.lanes;
  each_panel(g.count, [&](Index p, Index) {
    normalize_panel(g.at[x] + p * size, features, g.lanes, eps, scale, shift, g.at[y] + p * size);
  });
}

void AddInstruction::run(const TokenGroup& g) const {
  const Index size = features * g.lanes;
  each_panel(g.count, [&](Index p, Index) {
    const float *from = g.at[a] + p * size, *other = g.at[b] + p * size;
    float* to = g.at[y] + p * size;
    for (Index i = 0; i < size; ++i) to[i] = from[i] + other[i];
  });
}

void MapInstruction::run(const TokenGroup& g) const {
  const Index size = features * g.lanes;
  each_panel(g.count, [&](Index p, Index) { f(g.at[x] + p * size, size, g.at[y] + p * size); });
}

void EmbedInstruction::take_row(const Table& table, Index token, bool more, float* to) const {
  Index at = 0;
  for (std::size_t d = extents.size(); d-- > 0; token /= extents[d])
    at += token % extents[d] * table.steps[d];
  const Index id = table.is_wide ? reinterpret_cast<const std::int64_t*>(table.ids)[at]
                                 : reinterpret_cast<const std::int32_t*>(table.ids)[at];
  const auto take = [&](auto* rows, auto decode) {
    const auto* from = rows + id * features;
    if (more)
      for (Index f = 0; f < features; ++f) to[f] += decode(from[f]);
    else
      for (Index f = 0; f < features; ++f) to[f] = decode(from[f]);
  };
  const Values& values = *table.rows.values();
  if (table.rows.dtype() == DType::BF16)
    take(reinterpret_cast<const std::uint16_t*>(values.bytes().data()), kernels::widen_bf16);
  else
    take(values.as<float>().data(), [](float x) { return x; });
}

void EmbedInstruction::run(const TokenGroup& g) const {
  each_panel(g.count, [&](Index p, Index tokens) {
    thread_local Scratch memory;
    float* sums = memory.of(panel_width * features);
    for (Index t = 0; t < tokens; ++t) {
      float* to = sums + t * features;
      const Index token = g.first + p * panel_width + t;
      for (std::size_t i = 0; i < tables.size(); ++i) take_row(tables[i], token, i > 0, to);
    }
    rows_to_panel(sums, tokens, features, g.at[y] + p * features * g.lanes, g.lanes);
  });
}

void LoadInstruction::run(const TokenGroup& g) const {
  const float* from = rows + g.first * features;
  each_panel(g.count, [&](Index p, Index tokens) {
    const float* some = from + p * panel_width * features;
    if (interleaved)
      return rows_to_interleaved(some, tokens, features, interleaved_panel(g, y, features, p),
                                 g.lanes);
    rows_to_panel(some, tokens, features, g.at[y] + p * features * g.lanes, g.lanes);
  });
}

void StoreInstruction::run(const TokenGroup& g) const {
  float* to = rows + g.first * features;
  each_panel(g.count, [&](Index p, Index tokens) {
    float* some = to + p * panel_width * features;
    if (interleaved)
      return interleaved_to_rows(interleaved_panel(g, x, features, p), g.lanes, tokens, features,
                                 some);
    transpose_tiles(g.at[x] + p * features * g.lanes, g.lanes, features, tokens, some, features);
  });
}

}  // namespace sten::execution
