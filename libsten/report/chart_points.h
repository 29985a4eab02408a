// SPDX-License-Identifier: Apache-2.0
// Points of long lines, reduced to what a drawing can show.
#pragma once
#include <functional>
#include <vector>

#include "libsten/report/chart.h"

namespace sten {

// Of each run of points in one column of pixels the first, the least, the largest and the last one,
// in order; all points if that is not fewer. `column`: the pixel column of an x. A point that is not
// finite, which is a gap in the line, stays.
std::vector<ChartPoint> thinned(const std::vector<ChartPoint>& points,
                                const std::function<double(double)>& column);

// The indices of the points that no earlier one lower or equal in x and higher or equal in y
// dominates, by ascending x: the Pareto front of costs x and values y. Not finite ones are skipped.
std::vector<std::size_t> pareto_front(const std::vector<ChartPoint>& points);

}  // namespace sten
