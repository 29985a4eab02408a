// SPDX-License-Identifier: Apache-2.0
// The kernels' types of the dtypes that a sparsifier ranks.
#pragma once
#include "kernels/floats.h"
#include "libsten/core/base/dtype.h"

namespace sten {

using kernels::FloatBits;
using kernels::FloatKind;

// For prunable dtypes.
inline FloatKind float_kind(DType dtype) {
  switch (dtype) {
    case DType::F64:
      return FloatKind::f64;
    case DType::F16:
      return FloatKind::f16;
    case DType::BF16:
      return FloatKind::bf16;
    case DType::F8_E4M3:
      return FloatKind::f8_e4m3;
    case DType::F8_E5M2:
      return FloatKind::f8_e5m2;
    default:
      return FloatKind::f32;
  }
}

// Calls f(FloatBits<kind>{}) for a prunable dtype.
template <class F>
decltype(auto) with_float(DType t, F&& f) {
  return kernels::with_float(float_kind(t), f);
}

}  // namespace sten
