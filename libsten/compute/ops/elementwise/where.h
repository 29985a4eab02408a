// SPDX-License-Identifier: Apache-2.0
// Checked calls of where, for all implementations.
#pragma once
#include "libsten/core/dispatch/operators.h"

namespace sten {

// Return the shape of the output. Error (usage) if operands or attributes do not fit, or if the
// gradient, input 0, does not have this shape.
Shape check_where(const Call& call);
void check_where_grad(const Call& call);

}  // namespace sten
