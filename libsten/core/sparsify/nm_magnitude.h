// SPDX-License-Identifier: Apache-2.0
// nm: keeps the n largest of every m neighbours.
#pragma once
#include <span>

#include "libsten/core/base/spec.h"
#include "libsten/core/layout/nm.h"
#include "libsten/core/sparsify/sparsifier.h"
#include "libsten/core/tensor/matrix_view.h"

namespace sten {

struct NmMagnitude {
  static constexpr const char* name = "nm";
  static constexpr SpecDoc doc{
      "nm:n=2,m=4[,axis=1]",
      "the n largest of each m along a row (axis 0: down a column); of equals, the earlier. If the "
      "last block has only b values, min(n, b) of them are kept"};
  Index n = 2, m = 4, axis = 1;
  Dims dims;
  Index block() const { return m; }
  Share share() const { return {n, m}; }
  void select(std::span<const float> in, std::span<std::uint8_t> keep) const;
  void select(std::span<const double> in, std::span<std::uint8_t> keep) const;
  // The same for all rows of `lines` at once, or false for large blocks.
  bool select_by_row(const Dense& x, const MatrixView& lines, std::uint8_t* bits) const;
  // The kept elements as n:m with the same parameters. Equal to Nm::pack() of select(), but packs
  // each tile while it is in cache. kept: receives the mask; may be nullptr. No value for large
  // blocks. On a device, which needs selects_on_device(x), the results are on the device.
  std::optional<Nm> fit(const Dense& x, Mask* kept = nullptr) const;
  bool selects_on_device(const Dense& x) const;
  static NmMagnitude make(const Spec& spec);
};

}  // namespace sten
