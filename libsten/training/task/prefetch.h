// Prefetch: makes the next batch while a step is computed.
#pragma once
#include "libsten/training/task/task.h"

namespace sten {

// Wraps data so that another thread makes the next batch. If threads() is 1, batches are made on
// request. For one caller at a time.
std::shared_ptr<TaskData> prefetched(std::shared_ptr<const TaskData> data);

}  // namespace sten
