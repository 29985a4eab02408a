// SPDX-License-Identifier: Apache-2.0
// Loops with a compile-time index.
#pragma once
#include <cstddef>
#include <utility>

#include "kernels/simd/target.h"

STEN_TARGET_BEGIN
namespace sten::kernels::simd {

#define STEN_INLINE __attribute__((always_inline))

template <class F, std::size_t... i>
STEN_INLINE inline void each_of(std::index_sequence<i...>, F&& f) {
  (f(std::integral_constant<std::size_t, i>{}), ...);
}
// Calls f(0), ..., f(n - 1) with compile-time constants.
template <std::size_t n, class F>
STEN_INLINE inline void each(F&& f) {
  each_of(std::make_index_sequence<n>{}, f);
}

}  // namespace sten::kernels::simd
STEN_TARGET_END
