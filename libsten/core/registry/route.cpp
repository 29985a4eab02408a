// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/registry/route.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <deque>

#include "libsten/core/base/error.h"
#include "libsten/core/base/fallback.h"

namespace sten {
namespace {

std::string dims_text(const Spec& s) { return std::string(s.word("dims", "")); }

// The layouts on the shortest path of at least one edge, including both ends; empty if there is no
// path.
std::vector<std::string> shortest(const Registry& r, const std::string& from, const std::string& to,
                                  bool with_dims) {
  std::map<std::string, std::string> before;
  std::deque<std::string> reached{from};
  while (!reached.empty() && !before.contains(to)) {
    const std::string at = reached.front();
    reached.pop_front();
    for (const auto& [next, edge] : r.edges(at))
      // An intermediate layout has no parameters to be packed with, and without the key `dims` it
      // cannot state which dimensions are rows and columns.
      if (!before.contains(next) && (next == to || !r.needs_parameters(next)) &&
          (!with_dims || r.has_key(next, "dims"))) {
        before[next] = at;
        reached.push_back(next);
      }
  }
  if (!before.contains(to)) return {};
  std::vector<std::string> path{to};
  do path.push_back(before[path.back()]);
  while (path.back() != from);
  std::reverse(path.begin(), path.end());
  return path;
}

// Converts x over edge i of the route, counted from 1.
Tensor follow(const Registry& r, const Route& route, std::size_t i, const Tensor& x,
              const Spec& to) {
  return r.edges(route.layouts[i - 1]).at(route.layouts[i])(x, to);
}

}  // namespace

bool Route::through_dense() const {
  return std::find(layouts.begin(), layouts.end(), "dense") != layouts.end();
}

double Route::cost() const {
  return through_dense() ? dense_cost : static_cast<double>(layouts.size() - 1);
}

std::string Route::str() const { return fmt::format("{}", fmt::join(layouts, " -> ")); }

Route find_route(const Registry& r, const Spec& from, const Spec& to) {
  const std::vector<std::string> dense{from.name(), "dense", to.name()};
  if (from == to) return {{to.name()}, "it is there already"};
  if (from.is(Dense::name) || to.is(Dense::name))
    return {{from.name(), to.name()}, "one end is dense"};
  if (dims_text(from) != dims_text(to)) return {dense, "rows and columns become other dimensions"};
  auto path = shortest(r, from.name(), to.name(), from.has("dims"));
  if (path.empty())
    return {dense, fmt::format("no lossless edges lead from {} to {}", from.name(), to.name())};
  return {std::move(path), "lossless edges"};
}

Tensor convert(const Tensor& x, const Spec& layout, Route* taken) {
  return convert(registry(), x, layout, taken);
}

Tensor convert(const Registry& r, const Tensor& x, const Spec& layout, Route* taken) {
  const Spec to = r.canonical(layout), from = x.save().layout;
  Route route = find_route(r, from, to);
  if (taken) *taken = route;
  if (route.layouts.size() == 1) return x;
  if (to.is(Dense::name)) return x.to_dense();
  if (route.through_dense()) return r.pack(x.to_dense(), x.stored(), to);
  if (x.device() != Device::cpu)
    return on_cpu(route.str(), x, [&](const Tensor& t) { return convert(r, t, to); });
  Tensor at = x;
  for (std::size_t i = 1; i + 1 < route.layouts.size(); ++i) {
    Spec next(route.layouts[i]);
    if (from.has("dims")) next.set("dims", dims_text(from));
    try {
      at = follow(r, route, i, at, next);
    } catch (const Error& e) {
      // An intermediate layout may hold less than the target: csr has no matrices of 2^31 columns.
      if (taken)
        *taken = {{from.name(), "dense", to.name()},
                  fmt::format("{} on the way cannot hold it: {}", route.layouts[i], e.what())};
      return r.pack(x.to_dense(), x.stored(), to);
    }
  }
  return follow(r, route, route.layouts.size() - 1, at, to);
}

}  // namespace sten
