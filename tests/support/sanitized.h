// SPDX-License-Identifier: Apache-2.0
// Shorter runs in sanitized builds.
#pragma once
#include <cstdlib>

#include "kernels/sanitized.h"

namespace sten::testing {

using kernels::is_sanitized;

// Whether long runs are shortened. STEN_TEST_SHORT is for memory and race checkers of a device.
inline bool is_short() { return is_sanitized || std::getenv("STEN_TEST_SHORT"); }
// Steps of a shortened training run; later steps run no other code.
inline constexpr int short_steps = 12;

}  // namespace sten::testing
