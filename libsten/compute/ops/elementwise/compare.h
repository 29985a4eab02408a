// Checked calls of comparisons, logic and tests, for all implementations.
#pragma once
#include "libsten/core/dispatch/operators.h"

namespace sten {

// The shape of the output of an operator of two operands, which are of one dtype, in logic BOOL.
// Error (usage) if operands or attributes do not fit.
Shape check_comparison(const char* op, bool is_logic, const Call& call);

// The infinities that is-inf detects.
struct InfinityCall {
  bool negative, positive;

  explicit InfinityCall(const Call& call) {
    call.attributes.check("is-inf", {"detect-negative", "detect-positive"});
    negative = call.attributes.integer("detect-negative", 1) != 0;
    positive = call.attributes.integer("detect-positive", 1) != 0;
  }
};

}  // namespace sten
