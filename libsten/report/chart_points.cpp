// SPDX-License-Identifier: Apache-2.0
#include "libsten/report/chart_points.h"

#include <algorithm>
#include <cmath>

namespace sten {

std::vector<ChartPoint> thinned(const std::vector<ChartPoint>& points,
                                const std::function<double(double)>& column) {
  const auto is_finite = [](const ChartPoint& p) {
    return std::isfinite(p.x) && std::isfinite(p.y);
  };
  std::vector<ChartPoint> out;
  for (std::size_t begin = 0, end = 0; begin < points.size(); begin = end) {
    end = begin + 1;
    const double at = std::floor(column(points[begin].x));
    while (is_finite(points[begin]) && end < points.size() && is_finite(points[end]) &&
           std::floor(column(points[end].x)) == at)
      ++end;
    std::vector<std::size_t> kept = {begin, begin, begin, end - 1};
    for (std::size_t i = begin; i < end; ++i) {
      if (points[i].y < points[kept[1]].y) kept[1] = i;
      if (points[i].y > points[kept[2]].y) kept[2] = i;
    }
    std::ranges::sort(kept);
    kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
    for (const std::size_t i : kept) out.push_back(points[i]);
  }
  return out;
}

std::vector<std::size_t> pareto_front(const std::vector<ChartPoint>& points) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < points.size(); ++i)
    if (std::isfinite(points[i].x) && std::isfinite(points[i].y)) order.push_back(i);
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    const ChartPoint &p = points[a], &q = points[b];
    return p.x != q.x ? p.x < q.x : p.y > q.y;
  });
  std::vector<std::size_t> front;
  for (const std::size_t i : order)
    if (front.empty() || points[i].y > points[front.back()].y) front.push_back(i);
  return front;
}

}  // namespace sten
