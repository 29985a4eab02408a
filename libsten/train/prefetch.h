// The next step's batch, made while this step is computed.
#pragma once
#include "libsten/train/task.h"

namespace sten {

// The same data, whose batches are made ahead by a thread of its own if threads() allows:
// with one thread in all, each is made when it is asked for. For one caller at a time.
std::shared_ptr<TaskData> prefetched(std::shared_ptr<const TaskData> data);

}  // namespace sten
