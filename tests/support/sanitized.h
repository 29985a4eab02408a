// Whether these tests are built with a sanitizer, which makes them 10 times as slow and more.
#pragma once
#include <cstdlib>

namespace sten::testing {

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define STEN_SANITIZED
#endif
#endif
#if defined(STEN_SANITIZED) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool is_sanitized = true;
#else
inline constexpr bool is_sanitized = false;
#endif

// Whether long runs should be short: STEN_TEST_SHORT is for checkers of a device.
inline bool is_short() { return is_sanitized || std::getenv("STEN_TEST_SHORT"); }
// Steps of a training run then, whose later ones execute nothing else.
inline constexpr int short_steps = 12;

}  // namespace sten::testing
