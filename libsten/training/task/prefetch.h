// SPDX-License-Identifier: Apache-2.0
// Prefetch: makes the next batch or part while one is computed.
#pragma once
#include "libsten/training/task/task.h"

namespace sten {

// Wraps data so that another thread makes the next batch, or the next part of a split. If threads()
// is 1, both are made on request. For one caller at a time. data.batch() and data.part() must be
// safe to call at the same time.
std::shared_ptr<TaskData> prefetched(std::shared_ptr<const TaskData> data);

}  // namespace sten
