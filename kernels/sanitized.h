// SPDX-License-Identifier: Apache-2.0
// Whether the compiler adds checks of a sanitizer, which makes code at least 10 times slower.
#pragma once

namespace sten::kernels {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)  // g++
inline constexpr bool is_sanitized = true;
#elif defined(__clang__)
inline constexpr bool is_sanitized =
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
inline constexpr bool is_sanitized = false;
#endif

}  // namespace sten::kernels
