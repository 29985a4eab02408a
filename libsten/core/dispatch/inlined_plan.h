// SPDX-License-Identifier: Apache-2.0
// Fusion of sparsifiers: external sparsifiers that run inline.
#pragma once
#include "libsten/core/dispatch/operators.h"

namespace sten {

struct InlinedPlan {
  std::shared_ptr<const Plan> plan;
  // The outputs whose external sparsifier runs inline (with_inline_external()); empty: none.
  std::vector<bool> inlined;
};

// The plan of a call with these formats, whose signature is `wanted`; a format is nullptr for an
// unneeded output. An external sparsifier moves inline if it can (can_inline_external()), and if an
// implementation then serves the same inputs with the same conversions.
InlinedPlan inlined_plan(const Operators& all, Signature wanted,
                         std::span<const OutFormat* const> formats);

}  // namespace sten
