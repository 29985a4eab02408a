// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/product/nmg_small_batch.h"

#include <algorithm>
#include <functional>

#include "libsten/core/base/parallel.h"
#include "libsten/core/base/scratch.h"
#include "libsten/core/layout/nmg_patterns.h"
#include "libsten/core/layout/nmg_slots.h"

namespace sten {
namespace {

using kernels::nmg_lanes;
using kernels::nmg_rows_at_once;

}  // namespace

NmgByLanes::NmgByLanes(const Nmg& a) : rows(a.extents[0]), m(a.m) {
  const NmgGeometry geo = a.geometry();
  const auto table = PatternTable::get(a.n, m);
  chunk = geo.strips;
  chunks = geo.chunks;
  entries = chunk * a.n / m;  // every row is in as many patterns
  const Index size = groups() * m * chunks * entries * nmg_lanes;
  columns = Array<std::uint8_t>(size);
  values = Array<float>(size);
  std::uint8_t* const to_columns = columns.mutate();
  float* const to_values = values.mutate();
  const auto from = a.values.as<float>();
  parallel_for(groups(), 1, [&](Index begin, Index end) {
    std::vector<Index> used(m);
    const Index last = std::min(geo.row_blocks, end * nmg_lanes);
    for (Index block = begin * nmg_lanes; block < last; ++block)
      for (Index c = 0; c < chunks; ++c) {
        std::ranges::fill(used, 0);
        for (Index p = 0; p < geo.patterns; ++p)
          for (Index j = 0; j < a.g; ++j) {
            const Index slot = ((block * chunks + c) * geo.patterns + p) * a.g + j;
            const Index column = strip_at(a.index, slot);
            for (Index i = 0; i < a.n; ++i) {
              const Index r = (*table)[p][i], first = r / nmg_rows_at_once * nmg_rows_at_once,
                          at_once = std::min(nmg_rows_at_once, m - first);
              const Index at = ((block / nmg_lanes * m + first) * chunks * entries +
                                (c * entries + used[r]++) * at_once + r - first) *
                                   nmg_lanes +
                               block % nmg_lanes;
              to_columns[at] = static_cast<std::uint8_t>(column);
              if (c * chunk + column < a.extents[1]) to_values[at] = from[slot * a.n + i];
            }
          }
      }
  });
}

bool supports_nmg_lanes(const Tensor& tensor, const ProductCall& call) {
  const Index tokens = call.tokens;
  if (tokens == 0 || tokens > kernels::nmg_most_columns || call.has_panels || !tensor.is<Nmg>())
    return false;
  const Nmg& a = tensor.as<Nmg>();
  if (a.axis != 0 || a.extents[1] == 0) return false;
  const NmgGeometry geo = a.geometry();
  // Lanes without a row block take the same memory and time as others.
  const Index used = geo.row_blocks, all = ceil_div(used, nmg_lanes) * nmg_lanes;
  return geo.strips <= 256 && all <= 2 * used;
}

void nmg_small_batch_product(const Tensor& a, const Activations& x, const ActivationsOut& y,
                             const Epilogue& epilogue) {
  const auto packed = a.derived().get<NmgByLanes>([&] { return NmgByLanes(a.as<Nmg>()); });
  const Index tokens = x.tokens, ldx = packed->chunk * packed->chunks + kernels::nmg_columns_ahead;
  // Tokens one after another, each followed by zeros.
  thread_local Scratch column_memory;
  float* const columns = column_memory.of(tokens * ldx);
  for (Index t = 0; t < tokens; ++t) {
    for (Index k = 0; k < x.features; ++k) columns[t * ldx + k] = *x.tile(k, t);
    std::fill(columns + t * ldx + x.features, columns + (t + 1) * ldx, 0.0f);
  }
  const auto some = [&](Index begin, Index end) {
    thread_local Scratch memory;
    const Index size = tokens * packed->m * nmg_lanes;
    float *const sums = memory.of(2 * size), *const tile = sums + size;
    for (Index g = begin; g < end; ++g) {
      kernels::nmg_small_batch().run[tokens - 1](packed->group(g), columns, ldx, sums);
      const Index first = g * nmg_lanes * packed->m;
      const Index count = std::min(y.features - first, nmg_lanes * packed->m);
      for (Index t = 0; t < tokens; ++t)
        for (Index i = 0; i < count; ++i)
          tile[i * tokens + t] = sums[(t * packed->m + i % packed->m) * nmg_lanes + i / packed->m];
      write_tile(tile, first, count, 0, tokens, false, y, epilogue);
    }
  };
  parallel_for(packed->groups(), 1, std::cref(some));
}

}  // namespace sten
