// n:m sparsity: the n largest of every m neighbours.
#pragma once
#include <span>

#include "libsten/base/spec.h"
#include "libsten/layout/nm.h"
#include "libsten/sparsify/sparsifier.h"
#include "libsten/tensor/matrix_view.h"

namespace sten {

// Along a row (axis 1) or down a column (axis 0); among equals the earlier stays. A short last
// block of b values keeps min(n, b).
struct NmMagnitude {
  static constexpr const char* name = "nm";
  Index n = 2, m = 4, axis = 1;
  Dims dims;
  Index block() const { return m; }
  Share share() const { return {n, m}; }
  void select(std::span<const float> in, std::span<std::uint8_t> keep) const;
  void select(std::span<const double> in, std::span<std::uint8_t> keep) const;
  // The same for all lines at once, but for large blocks: false.
  bool select_by_row(const Dense& x, const MatrixView& lines, std::uint8_t* bits) const;
  // What stays, as n:m with the same numbers: what Nm::pack() gives, but each piece is packed while
  // it is in cache. kept: where the mask goes; nullptr if there is no need for one. Nothing for
  // large blocks. Where x is on a device, so are they; selects_on_device() holds.
  std::optional<Nm> fit(const Dense& x, Mask* kept = nullptr) const;
  bool selects_on_device(const Dense& x) const;
  static NmMagnitude make(const Spec& spec);
};

}  // namespace sten
