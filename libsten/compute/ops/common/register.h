// SPDX-License-Identifier: Apache-2.0
// Registration functions of the operator families: add_dropout() and the others of families.def.
#pragma once
namespace sten {

class Operators;

#define FAMILY(name) void add_##name(Operators& all);
#include "libsten/compute/ops/common/families.def"
#undef FAMILY

}  // namespace sten
