// SPDX-License-Identifier: Apache-2.0
// Examples from comma-separated values: a line per example, with its features and label.
#pragma once
#include <cstddef>
#include <span>
#include <string>

#include "libsten/data/examples.h"

namespace sten {

struct CsvOptions {
  // guess: the first line is a header if it has fields that are not numbers, and all of these are
  // names ("nan" and "NA" are not).
  enum class Header { guess, present, absent };
  Header header = Header::guess;
  // The column of labels: its name in the header, or its number from 1; the last one if empty.
  std::string label;
  // For rows without labels: the number of columns. All labels are 0.
  Index features = 0;
};

// Reads features [N, columns - 1] in F32, in the order of columns. Lines may end in CR LF; fields
// may be quoted and surrounded by blanks. Error with line (from 1) and column for rows of different
// lengths, fields that are empty or not finite numbers, and labels that are not class indices. Uses
// at most a few times the file's size in memory.
Examples read_csv(const std::string& path, const CsvOptions& options = {});
// Parses a file's bytes; `file_name` is for messages.
Examples parse_csv(std::span<const std::byte> file, const std::string& file_name,
                   const CsvOptions& options = {});

}  // namespace sten
