// n:m sparsity: the n largest of every m neighbours.
#pragma once
#include <span>

#include "libsten/base/spec.h"
#include "libsten/tensor/matrix_view.h"

namespace sten {

// Along a row (axis 1) or down a column (axis 0); among equals the earlier stays. A short last
// block of b values keeps min(n, b).
struct PerBlock {
  static constexpr const char* name = "per-block";
  Index n = 2, m = 4, axis = 1;
  Dims dims;
  Index block() const { return m; }
  void select(std::span<const float> in, std::span<std::uint8_t> keep) const;
  void select(std::span<const double> in, std::span<std::uint8_t> keep) const;
  static PerBlock make(const Spec& spec);
};

}  // namespace sten
