// SPDX-License-Identifier: Apache-2.0
// Examples and their split into training, validation and test rows.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libsten/core/tensor/dense.h"

namespace sten {

inline constexpr Index ignored_label = -100;  // as in cross-entropy

struct Examples {
  Dense features;  // [N, ...], in the file's dtype: integers, BOOL, F16, F32 or F64; finite
  Dense labels;    // [N], I64, class indices from 0

  Index count() const { return labels.size(); }
  // The largest label plus 1.
  Index classes() const;
};

// Checks and combines features and labels (of any integer dtype). Error with the name of the file
// for no rows, different numbers of features and labels, another shape or dtype, a feature that
// does not fit float32, or a negative label.
Examples make_examples(Dense features, const Dense& labels, const std::string& features_name,
                       const std::string& labels_name);

// Error with the name if a feature does not fit float32, or x is empty.
void check_features(const Dense& x, const std::string& name);
// Converts labels to I64: class indices from 0, and `ignored` if given. Error with the name for
// other values.
Dense labels_of(const Dense& x, const std::string& name, std::optional<Index> ignored = {});

// The integers 0 to n - 1, shuffled: sorted by random_bits(seed, integer), which any language can
// reproduce.
std::vector<Index> shuffled(Index n, std::uint64_t seed);

// Sizes of the first and second split of n rows; the third has the rest. The first share, and the
// sum of both, are rounded down. Error (usage) unless both shares are at least 0 and their sum is
// at most 1.
struct Shares {
  Index train = 0, validation = 0, test = 0;
};
Shares shares_of(Index n, double train, double validation);

// The split of n rows, shuffled by `seed`.
struct Split {
  std::vector<Index> train, validation, test;
};
Split split_rows(Index n, double train, double validation, std::uint64_t seed);

}  // namespace sten
