// Whether the tests are built with a sanitizer, which makes them at least 10 times slower.
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

// Whether long runs are shortened. STEN_TEST_SHORT is for memory and race checkers of a device.
inline bool is_short() { return is_sanitized || std::getenv("STEN_TEST_SHORT"); }
// Steps of a shortened training run; later steps run no other code.
inline constexpr int short_steps = 12;

}  // namespace sten::testing
