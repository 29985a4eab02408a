// SPDX-License-Identifier: Apache-2.0
// Valid names of tensors in files, the same for readers and writers.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace sten {

// PATH_MAX, since names become file names, patterns and lines of a report.
inline constexpr std::size_t max_name_bytes = 4096;
// Entries of a file: far above any model, and about 100 MB in memory.
inline constexpr std::size_t max_entries = 1'000'000;
// Reserved by the format.
inline constexpr const char metadata_name[] = "__metadata__";

// The reason why a tensor or an entry cannot have this name; "" if it can.
std::string why_no_name(std::string_view name);

}  // namespace sten
