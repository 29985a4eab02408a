// The plan of a run as a report.
#pragma once
#include "libsten/graph/executor.h"
#include "libsten/report/report.h"

namespace sten {

// Steps take the place of the report's rows: what runs in which layout and why, what it took in the
// last run, and how many operations and bytes of memory a second that are.
void explain(const ExecutionPlan& plan, Report& r);

}  // namespace sten
