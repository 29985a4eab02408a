// SPDX-License-Identifier: Apache-2.0
// Keys (kernels/elementwise.h) of floating-point types.
#pragma once
#include "kernels/elementwise.h"
#include "kernels/floats.h"

namespace sten::kernels {

template <FloatKind kind>
struct FloatKeys {
  using Bits = typename FloatBits<kind>::Bits;
  static constexpr Bits first_not_finite = FloatBits<kind>::first_not_finite;
  // |x|, exact in double.
  STEN_HOST_DEVICE static double magnitude(Bits bits) {
    return double{FloatBits<kind>::decode(magnitude_key(bits))};
  }
};

// Calls f(FloatKeys<kind>{}).
template <class F>
decltype(auto) with_keys(FloatKind kind, F&& f) {
  return with_float(kind,
                    [&]<FloatKind k>(FloatBits<k>) -> decltype(auto) { return f(FloatKeys<k>{}); });
}

}  // namespace sten::kernels
