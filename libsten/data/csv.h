// Examples from comma-separated values: a line for each, its numbers and its label.
#pragma once
#include <cstddef>
#include <span>
#include <string>

#include "libsten/data/examples.h"

namespace sten {

struct CsvOptions {
  // guess: the first line names the columns if it has fields that are not numbers, and all of those
  // are names ("nan" and "NA" are not).
  enum class Header { guess, present, absent };
  Header header = Header::guess;
  // The column of labels: what the header calls it, or its number from 1; the last if empty.
  std::string label;
  // Of rows without labels: how many columns they have. All labels of such a file are 0.
  Index features = 0;
};

// features [N, columns - 1] in F32, in the order of the columns. Lines may end in CR LF, fields may
// have blanks around them and may be in quotes. Error with the line (from 1) and the column where
// rows differ in length, a field is empty or not a finite number, or a label is not a class. Takes
// at most a few times the file's size in memory.
Examples read_csv(const std::string& path, const CsvOptions& options = {});
// The same of a file's bytes; messages call it `file_name`.
Examples parse_csv(std::span<const std::byte> file, const std::string& file_name,
                   const CsvOptions& options = {});

}  // namespace sten
