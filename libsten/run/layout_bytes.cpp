#include "libsten/run/layout_bytes.h"

#include <fmt/ranges.h>

#include "libsten/dispatch/structure.h"

namespace sten {
namespace {

std::optional<Index> least(std::string_view layout, const Occupancy& of,
                           const std::vector<Pattern>& held) {
  std::optional<Index> best;
  for (const Pattern& p : held) {
    const Spec spec = p.layout();
    if (!spec.is(layout)) continue;
    const auto size = registry().bytes(spec, of);
    if (!best || (size && *size < *best)) best = size;
  }
  return best;
}

}  // namespace

LayoutBytes layout_bytes(const Occupancy& of, const std::vector<Pattern>& held) {
  LayoutBytes bytes;
  for (const auto& [name, example] : registry().layouts()) {
    if (is_pattern(name))
      bytes.push_back(least(name, of, held));
    else if (is_structure(example) && (of.positions().is_listed || breach(of.positions(), example)))
      bytes.push_back(std::nullopt);
    else
      bytes.push_back(registry().bytes(example, of));
  }
  return bytes;
}

std::string sized_as(const Registry::Example& layout) {
  std::vector<std::string> numbers;
  if (!is_pattern(layout.name))
    for (const auto& [key, value] : layout.spec.args()) numbers.push_back(value);
  return fmt::format("{}{}{}", layout.name, numbers.empty() ? "" : " ", fmt::join(numbers, "x"));
}

}  // namespace sten
