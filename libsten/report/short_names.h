// SPDX-License-Identifier: Apache-2.0
// Shortened names that stay distinct.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace sten {

// The number of code points, which is the width in most scripts.
std::size_t columns_of(std::string_view s);

// What all of several names start and end with, up to separators; empty if they start, or end, with
// nothing in common.
struct SharedEnds {
  std::string prefix, suffix;
};
SharedEnds shared_ends(const std::vector<std::string>& names);
// The name with "…" in place of its shared ends.
std::string without(const SharedEnds& ends, const std::string& name);

// Shortens names to `width` code points. Removes the common prefix, then the end, both up to a
// separator; then cuts at the position, nearest to the middle, that leaves the most names distinct.
// "…" replaces removed text.
std::vector<std::string> short_names(const std::vector<std::string>& names, std::size_t width);

}  // namespace sten
