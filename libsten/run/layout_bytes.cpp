#include "libsten/run/layout_bytes.h"

#include <fmt/ranges.h>

#include "libsten/dispatch/structure.h"

namespace sten {
namespace {

std::optional<SizedLayout> sized(const Spec& layout, const Occupancy& of) {
  const auto bytes = registry().bytes(layout, of);
  return bytes ? std::optional(SizedLayout{layout, *bytes}) : std::nullopt;
}

std::optional<SizedLayout> least(std::string_view layout, const Occupancy& of,
                                 const std::vector<Pattern>& held) {
  std::optional<SizedLayout> best;
  for (const Pattern& p : held) {
    const Spec spec = p.layout();
    if (!spec.is(layout)) continue;
    const auto size = sized(spec, of);
    if (!best || (size && size->bytes < best->bytes)) best = size;
  }
  return best;
}

// In the order of Registry::layouts().
std::vector<std::optional<SizedLayout>> all_sized(const Occupancy& of,
                                                  const std::vector<Pattern>& held) {
  std::vector<std::optional<SizedLayout>> all;
  for (const auto& [name, example] : registry().layouts()) {
    if (is_pattern(name))
      all.push_back(least(name, of, held));
    else if (is_structure(example) && (of.positions().is_listed || breach(of.positions(), example)))
      all.push_back(std::nullopt);
    else
      all.push_back(sized(example, of));
  }
  return all;
}

}  // namespace

LayoutBytes layout_bytes(const Occupancy& of, const std::vector<Pattern>& held) {
  LayoutBytes bytes;
  for (const auto& layout : all_sized(of, held))
    bytes.push_back(layout ? std::optional(layout->bytes) : std::nullopt);
  return bytes;
}

Spec smallest_layout(const SizedLayout& own, const Occupancy& of,
                     const std::vector<Pattern>& held) {
  SizedLayout best = own;
  for (const auto& layout : all_sized(of, held))
    if (layout && layout->bytes < best.bytes) best = *layout;
  return best.layout;
}

std::string sized_as(const Registry::Example& layout) {
  std::vector<std::string> numbers;
  if (!is_pattern(layout.name))
    for (const auto& [key, value] : layout.spec.args()) numbers.push_back(value);
  return fmt::format("{}{}{}", layout.name, numbers.empty() ? "" : " ", fmt::join(numbers, "x"));
}

}  // namespace sten
