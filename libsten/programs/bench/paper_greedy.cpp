// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/bench/paper_greedy.h"

#include <cmath>

namespace sten {

PaperGreedy::PaperGreedy(const Dense& x, const Spec& nmg)
    : x_(x),
      geometry_(NmgGeometry::of(x.extents, nmg.integer("n"), nmg.integer("m"), nmg.integer("g"),
                                nmg.integer("axis", 0), dims_of(nmg))),
      table_(PatternTable::get(geometry_.n, geometry_.m)),
      values_(geometry_.units() * geometry_.strips * geometry_.n),
      magnitudes_(geometry_.m * geometry_.strips),
      index_(geometry_.units() * geometry_.strips),
      candidates_(geometry_.patterns * geometry_.strips),
      fill_(geometry_.patterns),
      pattern_of_(geometry_.strips) {}

bool PaperGreedy::is_feasible(const NmgGeometry& geometry) {
  constexpr Index most = (Index{1} << 30) / sizeof(kernels::NmgCandidate<float>);
  return geometry.patterns <= most / geometry.strips;
}

void PaperGreedy::run() {
  for (Index u = 0; u < geometry_.units(); ++u) convert(u);
}

void PaperGreedy::convert(Index unit) {
  const NmgGeometry& geo = geometry_;
  const float* x =
      x_.values.as<float>().data() + geo.view.batch_offset(unit / (geo.row_blocks * geo.chunks));
  const Index row0 = unit / geo.chunks % geo.row_blocks * geo.m;
  const Index col0 = unit % geo.chunks * geo.strips;
  const Index rows = std::min(geo.m, geo.view.rows - row0);
  const Index cols = std::min(geo.strips, geo.view.cols - col0);
  x += row0 * geo.view.row_stride + col0 * geo.view.col_stride;
  if (rows < geo.m || cols < geo.strips)
    std::fill(magnitudes_.begin(), magnitudes_.end(), 0.0f);  // padding
  for (Index r = 0; r < rows; ++r)
    for (Index s = 0; s < cols; ++s)
      magnitudes_[r * geo.strips + s] =
          std::abs(x[r * geo.view.row_stride + s * geo.view.col_stride]);
  const kernels::NmgChunk<float> chunk{magnitudes_.data(), table_->data(), geo.n, geo.m,
                                       geo.patterns,       geo.g};
  kernels::nmg_fit_greedy(chunk, candidates_.data(), fill_.data(), pattern_of_.data());
  // Ascending strips make ascending columns in each group.
  std::fill(fill_.begin(), fill_.end(), 0);
  for (Index s = 0; s < geo.strips; ++s) {
    const std::int32_t p = pattern_of_[s];
    const Index slot = unit * geo.strips + p * geo.g + fill_[p]++;
    index_[slot] = static_cast<std::uint16_t>(s);
    for (Index i = 0; i < geo.n; ++i) {
      const Index r = (*table_)[p][i];
      values_[slot * geo.n + i] =
          r < rows && s < cols ? x[r * geo.view.row_stride + s * geo.view.col_stride] : 0.0f;
    }
  }
}

}  // namespace sten
