// SPDX-License-Identifier: Apache-2.0
// Texts of error messages about rejected values: the accepted values and the nearest one.
#pragma once
#include <fmt/ranges.h>

#include "libsten/core/base/text.h"

namespace sten {

// Returns "unknown layout 'nmq', did you mean 'nmg'? (expected one of bcsr, ..., nmg; example:
// 2:4)".
inline std::string unknown_name(std::string_view what, std::string_view word,
                                const std::vector<std::string>& choices,
                                std::string_view example = "") {
  return fmt::format("unknown {} {}{} (expected one of {}{}{})", what, quote(word),
                     suggestion(word, choices), fmt::join(choices, ", "),
                     example.empty() ? "" : "; example: ", example);
}

// Returns "must be in [0, 1], got 90 (did you mean 0.9 or 90%?)".
inline std::string not_a_fraction(double value) {
  return fmt::format("must be in [0, 1], got {}{}", value,
                     value >= 2 && value <= 100
                         ? fmt::format(" (did you mean {} or {}%?)", value / 100, value)
                         : "");
}

}  // namespace sten
