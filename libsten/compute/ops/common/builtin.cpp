// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/ops/common/register.h"
#include "libsten/core/dispatch/operators.h"

namespace sten {

void add_builtin_operators(Operators& all) {
#define FAMILY(name) add_##name(all);
#include "libsten/compute/ops/common/families.def"
#undef FAMILY
}

}  // namespace sten
