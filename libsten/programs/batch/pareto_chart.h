// SPDX-License-Identifier: Apache-2.0
// Chart of several models.
#pragma once
#include "libsten/report/report.h"

namespace sten {

// Size and energy of the inputs of a batch, with the Pareto front: the inputs of which no other one
// is at most as large with at least the energy. Without two inputs with both, a chart without
// points.
Chart pareto_chart(const Report& r);

}  // namespace sten
