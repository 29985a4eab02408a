// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/measure/layout_bytes.h"

#include <fmt/ranges.h>

#include <utility>

#include "libsten/core/registry/structure.h"

namespace sten {
namespace {

using Size = std::optional<Index>;

std::pair<Spec, Size> least(const Spec& layout, const Occupancy& of,
                            const std::vector<Pattern>& held) {
  std::pair<Spec, Size> best(layout, std::nullopt);
  for (const Pattern& p : held) {
    const Spec spec = p.layout();
    if (!spec.is(layout.name())) continue;
    const Size size = registry().bytes(spec, of);
    if (!best.second || (size && *size < *best.second)) best = {spec, size};
  }
  return best;
}

// Calls f(layout, bytes) in the order of Registry::layouts().
template <class F>
void for_each_size(const Occupancy& of, const std::vector<Pattern>& held, F&& f) {
  for (const auto& [name, example] : registry().layouts()) {
    if (is_pattern(name)) {
      const auto [layout, size] = least(example, of, held);
      f(layout, size);
    } else if (is_structure(example) &&
               (of.positions().is_listed || breach(of.positions(), example))) {
      f(example, Size());
    } else {
      f(example, registry().bytes(example, of));
    }
  }
}

}  // namespace

LayoutBytes layout_bytes(const Occupancy& of, const std::vector<Pattern>& held) {
  LayoutBytes bytes;
  for_each_size(of, held, [&](const Spec&, Size size) { bytes.push_back(size); });
  return bytes;
}

Spec smallest_layout(const SizedLayout& own, const Occupancy& of,
                     const std::vector<Pattern>& held) {
  SizedLayout best = own;
  for_each_size(of, held, [&](const Spec& layout, Size size) {
    if (size && *size < best.bytes) best = {layout, *size};
  });
  return best.layout;
}

std::string sized_as(const Registry::Example& layout) {
  std::vector<std::string> numbers;
  if (!is_pattern(layout.name))
    for (const auto& [key, value] : layout.spec.args()) numbers.push_back(value);
  return fmt::format("{}{}{}", layout.name, numbers.empty() ? "" : " ", fmt::join(numbers, "x"));
}

}  // namespace sten
