// Keys (kernels/elementwise.h) of floating-point types.
#pragma once
#include "kernels/block/floats.h"
#include "kernels/elementwise.h"

namespace sten::kernels {

template <FloatKind kind>
struct FloatKeys {
  using Bits = typename FloatBits<kind>::Bits;
  // Of infinity, or of NaN where there is none.
  static constexpr Bits first_not_finite = [] {
    if constexpr (kind == FloatKind::f64) return Bits{0x7ff0000000000000};
    if constexpr (kind == FloatKind::f32) return Bits{0x7f800000};
    if constexpr (kind == FloatKind::f16) return Bits{0x7c00};
    if constexpr (kind == FloatKind::bf16) return Bits{0x7f80};
    if constexpr (kind == FloatKind::f8_e4m3) return Bits{0x7f};
    if constexpr (kind == FloatKind::f8_e5m2) return Bits{0x7c};
  }();
  // |x|, exact.
  STEN_HOST_DEVICE static double magnitude(Bits bits) {
    return double{FloatBits<kind>::decode(magnitude_key(bits))};
  }
};

// f(FloatKeys<kind>{}).
template <class F>
decltype(auto) with_keys(FloatKind kind, F&& f) {
  switch (kind) {
    case FloatKind::f64:
      return f(FloatKeys<FloatKind::f64>{});
    case FloatKind::f16:
      return f(FloatKeys<FloatKind::f16>{});
    case FloatKind::bf16:
      return f(FloatKeys<FloatKind::bf16>{});
    case FloatKind::f8_e4m3:
      return f(FloatKeys<FloatKind::f8_e4m3>{});
    case FloatKind::f8_e5m2:
      return f(FloatKeys<FloatKind::f8_e5m2>{});
    default:
      return f(FloatKeys<FloatKind::f32>{});
  }
}

}  // namespace sten::kernels
