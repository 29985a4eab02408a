// SPDX-License-Identifier: Apache-2.0
// Conversions between float32 and the 16-bit floats BF16 and F16.
#pragma once
#include "libsten/core/tensor/tensor.h"

namespace sten {

inline bool is_low_float(DType t) { return t == DType::BF16 || t == DType::F16; }

// The bits of the nearest binary16, ties to even; infinity from 65520 on. NaN stays NaN.
std::uint16_t round_to_f16(float x);

// Converts BF16 and F16 to F32, in the same layout, on the CPU; returns other dtypes unchanged.
Tensor widened(const Tensor& x);
// Rounds F32 to BF16 or F16, in the same layout, on the CPU; returns x if `to` is another dtype.
Tensor rounded_to(DType to, const Tensor& x);
// Converts between F32, BF16 and F16, in the same layout, on the CPU; returns x if it has the dtype,
// or is of another one. Error for a finite value that is beyond the range of the dtype.
Tensor converted_to(DType to, const Tensor& x);

}  // namespace sten
