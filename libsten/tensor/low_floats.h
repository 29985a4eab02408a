// Numbers of 16 bits, from and to float32.
#pragma once
#include "libsten/tensor/tensor.h"

namespace sten {

inline bool is_low_float(DType t) { return t == DType::BF16 || t == DType::F16; }

// The bits of the nearest binary16, of the even one where two are: infinity from 65520 on. NaN stays NaN.
std::uint16_t round_to_f16(float x);

// BF16 and F16 as F32, in the same layout, of the CPU; others are as they are.
Tensor widened(const Tensor& x);
// F32 as the nearest BF16 or F16, likewise; as it is where `to` is neither.
Tensor rounded_to(DType to, const Tensor& x);

}  // namespace sten
