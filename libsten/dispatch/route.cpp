#include "libsten/dispatch/route.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <deque>

#include "libsten/base/error.h"

namespace sten {
namespace {

std::string dims_text(const Spec& s) { return std::string(s.word("dims", "")); }

// The names on the shortest way, both ends among them; empty if there is none.
std::vector<std::string> shortest(const Registry& r, const std::string& from, const std::string& to,
                                  bool with_dims) {
  std::map<std::string, std::string> before{{from, from}};
  std::deque<std::string> reached{from};
  while (!reached.empty() && !before.contains(to)) {
    const std::string at = reached.front();
    reached.pop_front();
    for (const auto& [next, edge] : r.edges(at))
      // Without the key a layout cannot say which dimensions its rows and columns are.
      if (!before.contains(next) && (!with_dims || r.has_key(next, "dims"))) {
        before[next] = at;
        reached.push_back(next);
      }
  }
  if (!before.contains(to)) return {};
  std::vector<std::string> way{to};
  while (way.back() != from) way.push_back(before[way.back()]);
  std::reverse(way.begin(), way.end());
  return way;
}

}  // namespace

bool Route::through_dense() const {
  return std::find(layouts.begin(), layouts.end(), "dense") != layouts.end();
}

std::string Route::str() const { return fmt::format("{}", fmt::join(layouts, " -> ")); }

Route find_route(const Registry& r, const Spec& from, const Spec& to) {
  const std::vector<std::string> dense{from.name(), "dense", to.name()};
  if (from == to) return {{to.name()}, "it is there already"};
  if (from.is("dense") || to.is("dense")) return {{from.name(), to.name()}, "one end is dense"};
  if (dims_text(from) != dims_text(to)) return {dense, "rows and columns become other dimensions"};
  if (from.is(to.name())) return {dense, "the numbers of its spec change"};
  auto way = shortest(r, from.name(), to.name(), from.has("dims"));
  if (way.empty())
    return {dense, fmt::format("no lossless edges lead from {} to {}", from.name(), to.name())};
  return {std::move(way), "lossless edges"};
}

Tensor convert(const Tensor& x, const Spec& layout, Route* taken) {
  const Registry& r = registry();
  const Spec to = r.canonical(layout), from = x.save().layout;
  Route route = find_route(r, from, to);
  if (taken) *taken = route;
  if (route.layouts.size() == 1) return x;
  if (route.through_dense()) return r.pack(x.to_dense(), x.stored(), to);
  Tensor at = x;
  for (std::size_t i = 1; i < route.layouts.size(); ++i) {
    Spec next(route.layouts[i]);
    if (from.has("dims")) next.set("dims", dims_text(from));
    at = r.edges(route.layouts[i - 1])
             .at(route.layouts[i])(at, i + 1 == route.layouts.size() ? to : next);
  }
  return at;
}

}  // namespace sten
