// Which names tensors may have in a file: one rule for those who read and those who write.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace sten {

// PATH_MAX: names become file names, patterns and lines of a report.
inline constexpr std::size_t max_name_bytes = 4096;
// Entries of a file: far above any model, and still only some 100 MB of them.
inline constexpr std::size_t max_entries = 1'000'000;
// The format's own word, which no tensor can be called.
inline constexpr const char metadata_name[] = "__metadata__";

// Why neither a tensor nor one of its entries can be called so; "" where it can.
std::string why_no_name(std::string_view name);

}  // namespace sten
