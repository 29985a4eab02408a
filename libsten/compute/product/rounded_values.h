// SPDX-License-Identifier: Apache-2.0
// Values of a weight, rounded to bfloat16.
#pragma once
#include <cstring>

#include "kernels/interleaved.h"
#include "libsten/core/base/floats.h"
#include "libsten/core/tensor/values.h"

namespace sten {

// Values of a floating-point type, which must outlive this object.
class RoundedValues {
 public:
  explicit RoundedValues(const Values& values)
      : at_(values.bytes().data()), kind_(float_kind(values.dtype())) {}

  std::uint16_t operator[](Index i) const {
    if (kind_ != FloatKind::bf16) return kernels::round_to_bf16(kernels::load_float(at_, kind_, i));
    std::uint16_t bits;
    std::memcpy(&bits, at_ + 2 * i, sizeof bits);
    return bits;
  }
  // The values from `first` on.
  void copy(Index first, Index count, std::uint16_t* to) const {
    if (count <= 0) return;
    if (kind_ == FloatKind::bf16) {
      std::memcpy(to, at_ + 2 * first, 2 * static_cast<std::size_t>(count));
    } else if (kind_ == FloatKind::f32) {
      for (Index i = 0; i < count; ++i) {
        float x;
        std::memcpy(&x, at_ + 4 * (first + i), sizeof x);
        to[i] = kernels::round_to_bf16(x);
      }
    } else {
      for (Index i = 0; i < count; ++i) to[i] = (*this)[first + i];
    }
  }

 private:
  const std::byte* at_;
  FloatKind kind_;
};

}  // namespace sten
