// What a call of dropout says, or one of its gradient.
#pragma once
#include "libsten/dispatch/operators.h"

namespace sten {

struct DropoutCall {
  double p = 0;
  std::uint64_t seed = 0;
  // Input `first`, one I64, if it is there: the stream of random numbers is then that of both.
  const Dense* draw = nullptr;

  // Error (usage) where one of them is not what it has to be.
  DropoutCall(const Call& call, std::size_t first);
  // What is left becomes so many times as much; all is dropped where p is 1.
  double scale() const { return p < 1 ? 1 / (1 - p) : 0; }
};

}  // namespace sten
