// Names that have to fit, shortened so that they stay apart.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace sten {

// Code points, which is what lines up for most scripts.
std::size_t columns_of(std::string_view s);

// Each of at most `width` code points. Names that are longer lose the beginning that all share, then
// the end, both up to a separator; then they are cut at the place that leaves the most of them
// distinct, the nearest to the middle. "…" stands for what is missing.
std::vector<std::string> short_names(const std::vector<std::string>& names, std::size_t width);

}  // namespace sten
