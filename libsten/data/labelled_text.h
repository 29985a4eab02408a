// Texts with labels, as data sets for classification have them: comma- or tab-separated values with a
// header, or JSON lines.
#pragma once
#include <string>
#include <vector>

#include "libsten/base/shape.h"

namespace sten {

struct TextColumns {
  std::string text = "text", label = "label";  // label empty: all labels are "0"
  std::string pair;                            // a second text; empty: none
};

struct LabelledText {
  std::string text, pair, label;
  Index line = 0;  // of the file, from 1
};
// One label for each word.
struct LabelledWords {
  std::vector<std::string> words, labels;
  Index line = 0;
};

// The rows of a file. Its name says how they are written:
//   .csv, .tsv     fields as RFC 4180 has them, in quotes with line ends where they need them; the
//                  first row names the columns. Words, and labels of words, are separated by blanks
//   .jsonl, .json  an object a line; labels are texts, integers, or true and false. Words and their
//                  labels are lists, or texts as above
// Error (input) with file and line where a row is none, lacks a column, or has no label; Error (usage)
// where no column has such a name.
std::vector<LabelledText> read_labelled_text(const std::string& path, const TextColumns& columns);
// The same for words: also where a row has more of the one than of the other, or none.
std::vector<LabelledWords> read_labelled_words(const std::string& path, const TextColumns& columns);

}  // namespace sten
