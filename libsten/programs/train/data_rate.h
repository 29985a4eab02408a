// SPDX-License-Identifier: Apache-2.0
// The speed at which images are read, for the report of a dry run.
#pragma once
#include "libsten/report/report.h"
#include "libsten/training/task/task.h"

namespace sten {

// For images in files: prepares batches of training without using them, for two seconds but at most
// an epoch, and adds images per second and processor time per image to the report.
void add_data_rate(const Task& task, Report& report);

}  // namespace sten
