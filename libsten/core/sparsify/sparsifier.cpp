// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/sparsify/sparsifier.h"

#include <algorithm>

#include "libsten/core/base/fallback.h"

namespace sten {

std::string_view name_of(Kind kind) {
  static constexpr std::string_view names[] = {"streaming", "blocking", "materializing"};
  return names[static_cast<int>(kind)];
}

namespace sparsify_detail {

void check_prunable(DType dtype) {
  if (!is_prunable(dtype))
    fail("{} elements cannot be pruned (expected F64, F32, F16, BF16, F8_E4M3 or F8_E5M2)",
         name_of(dtype));
}

MatrixView rows_of(const Shape& shape, Index axis, Dims dims) {
  if (shape.size() < 2 && !dims.given()) return MatrixView::of({1, size_of(shape)});
  return MatrixView::of(shape, dims, axis == 0);
}

std::vector<EntryPosition> entry_positions(const Entries& x, const MatrixView& view) {
  std::vector<EntryPosition> positions(x.at.size());
  parallel_for(x.size(), mask_grain, [&](Index begin, Index end) {
    for (Index k = begin; k < end; ++k) {
      const auto [line, col] = view.place(x.at[k]);
      positions[k] = {line, col, k};
    }
  });
  const auto before = [](const EntryPosition& a, const EntryPosition& b) {
    return a.line != b.line ? a.line < b.line : a.col < b.col;
  };
  if (!std::is_sorted(positions.begin(), positions.end(), before))
    std::sort(positions.begin(), positions.end(), before);
  return positions;
}

}  // namespace sparsify_detail

HintsHere::HintsHere(const Hints& hints) : hints_(hints) {
  if (hints.pattern) {
    pattern_ = hints.pattern->to(Device::cpu);
    hints_.pattern = &pattern_;
  }
  if (hints.scores) {
    scores_ = hints.scores->to(Device::cpu);
    hints_.scores = &scores_;
  }
}

Mask Sparsifier::select(const Dense& x, const Hints& hints) const {
  if (x.device() == Device::cpu || selects_on_device(x)) return self_->select(x, hints);
  return on_cpu(spec().str(), x,
                [&](const Dense& d) { return self_->select(d, HintsHere(hints).hints()); });
}

}  // namespace sten
