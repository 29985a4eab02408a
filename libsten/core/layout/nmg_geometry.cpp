// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/layout/nmg_geometry.h"

#include <algorithm>

#include "libsten/core/base/error.h"
#include "libsten/core/layout/nm_positions.h"
#include "libsten/core/layout/nmg_patterns.h"

namespace sten {
namespace {

constexpr Index max_strips = 65536;  // column indices have 16 bits

}  // namespace

void NmgGeometry::check(Index n, Index m, Index g, Index axis) {
  check_n_of_m(n, m, axis);
  if (g < 1) fail_usage("g must be >= 1, got {}", g);
  const Index c = pattern_count(n, m, max_strips);
  if (c > max_strips || c > max_strips / g)
    fail_usage("n={},m={},g={}: a chunk would have more than {} strips", n, m, g, max_strips);
}

NmgGeometry NmgGeometry::of(const Shape& shape, Index n, Index m, Index g, Index axis, Dims dims) {
  check(n, m, g, axis);
  NmgGeometry geo{.view = MatrixView::of(shape, dims, axis == 1),
                  .n = n,
                  .m = m,
                  .g = g,
                  .patterns = pattern_count(n, m, max_strips),
                  .strips = 0,
                  .row_blocks = 0,
                  .chunks = 0};
  geo.strips = geo.patterns * g;
  geo.row_blocks = ceil_div(geo.view.rows, m);
  geo.chunks = ceil_div(geo.view.cols, geo.strips);
  return geo;
}

NmgUnit::NmgUnit(const NmgGeometry& geo, Index u)
    : row0(u / geo.chunks % geo.row_blocks * geo.m),
      col0(u % geo.chunks * geo.strips),
      rows(std::min(geo.m, geo.view.rows - row0)),
      cols(std::min(geo.strips, geo.view.cols - col0)),
      offset(geo.view.batch_offset(u / (geo.row_blocks * geo.chunks)) + row0 * geo.view.row_stride +
             col0 * geo.view.col_stride) {}

}  // namespace sten
