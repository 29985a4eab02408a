// Rows to learn from, and which of them to train on.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libsten/tensor/dense.h"

namespace sten {

struct Examples {
  Dense features;  // [N, ...], of the dtype the file has: integers, BOOL, F16, F32 or F64; finite
  Dense labels;    // [N], I64, classes from 0 up

  Index count() const { return labels.size(); }
  // The largest label and 1.
  Index classes() const;
};

// Takes labels of any integer dtype. Error, with the name of the file at fault, without
// rows, if features and labels differ in number, if a shape or dtype is not as above, if a feature
// does not fit a float32, or if a label is negative.
Examples make_examples(Dense features, const Dense& labels, const std::string& features_name,
                       const std::string& labels_name);

// Error with the name where a feature does not fit a float32, or x has none.
void check_features(const Dense& x, const std::string& name);
// As I64: classes from 0 up, and `ignored` where it is given. Error with the name for anything else.
Dense labels_of(const Dense& x, const std::string& name, std::optional<Index> ignored = {});

// The numbers 0 to n - 1, shuffled: sorted by random_bits(seed, number), so that any language can
// repeat it.
std::vector<Index> shuffled(Index n, std::uint64_t seed);

// How many of n are in the first split, and how many in the second; the third has the rest. The
// first share is rounded down, and so is the sum of both. Error (usage) unless both shares are at
// least 0 and their sum is at most 1.
struct Shares {
  Index train = 0, validation = 0, test = 0;
};
Shares shares_of(Index n, double train, double validation);

// Rows of a data set of n, shuffled by `seed`.
struct Split {
  std::vector<Index> train, validation, test;
};
Split split_rows(Index n, double train, double validation, std::uint64_t seed);

}  // namespace sten
