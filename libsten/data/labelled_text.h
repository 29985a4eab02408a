// SPDX-License-Identifier: Apache-2.0
// Labelled texts of classification data sets: comma- or tab-separated values with a header, or JSON
// lines.
#pragma once
#include <string>
#include <vector>

#include "libsten/core/base/shape.h"

namespace sten {

struct TextColumns {
  std::string text = "text", label = "label";  // empty label: all labels are "0"
  std::string pair;                            // column of a second text; empty: none
};

struct LabelledText {
  std::string text, pair, label;
  Index line = 0;  // in the file, from 1
};
// A label per word.
struct LabelledWords {
  std::vector<std::string> words, labels;
  Index line = 0;
};

// Reads the rows of a file, whose name tells the format:
//   .csv, .tsv     fields as in RFC 4180, quoted if they have line breaks; the first row names the
//                  columns. Words, and labels of words, are separated by blanks
//   .jsonl, .json  an object per line; labels are strings, integers or booleans. Words and their
//                  labels are lists, or texts as above
// Error (input) with file and line for a malformed row, a missing column or a missing label; Error
// (usage) if no column has the given name.
std::vector<LabelledText> read_labelled_text(const std::string& path, const TextColumns& columns);
// The same for words. Also Error (input) if the numbers of words and labels differ, or are 0.
std::vector<LabelledWords> read_labelled_words(const std::string& path, const TextColumns& columns);

}  // namespace sten
