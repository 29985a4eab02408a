// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/dispatch/inlined_plan.h"

#include <fmt/ranges.h>

#include "libsten/core/dispatch/format_signature.h"

namespace sten {

// Moves one external sparsifier after the other.
InlinedPlan inlined_plan(const Operators& all, Signature wanted,
                         std::span<const OutFormat* const> formats) {
  std::shared_ptr<const Plan> best = all.plan(wanted);
  std::vector<bool> inlined(formats.size());
  std::vector<std::string> names;
  for (std::size_t i = 0; i < formats.size(); ++i) {
    if (!formats[i] || !can_inline_external(*formats[i])) continue;
    const OutFormat format = with_inline_external(*formats[i]);
    Signature moved = wanted;
    moved.out[i] = signature_of(&format);
    const std::shared_ptr<const Plan> other = all.plan(moved);
    if (other->kind != best->kind || other->in != best->in || other->after != best->after ||
        other->moves != best->moves)
      continue;
    wanted = std::move(moved);
    best = other;
    inlined[i] = true;
    names.push_back(format.inline_by.spec().str());
  }
  if (names.empty()) return {std::move(best), {}};
  Plan made = *best;
  made.text += fmt::format("; external {} moved inline", fmt::join(names, ", "));
  return {std::make_shared<const Plan>(std::move(made)), std::move(inlined)};
}

}  // namespace sten
