// SPDX-License-Identifier: Apache-2.0
// Long tasks beside the loops of parallel_for().
#pragma once
#include <functional>

#include "libsten/core/base/shape.h"

namespace sten {

// Calls f(i) for i = 0, ..., n - 1 on up to threads() threads, including the caller; the others are
// started for this call, so that loops can run at the same time. Tasks start in increasing order.
// After an exception no more start, and the exception of the lowest i is rethrown.
void run_tasks(Index n, const std::function<void(Index)>& f);

}  // namespace sten
