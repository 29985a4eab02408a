// SPDX-License-Identifier: Apache-2.0
// Options of calibration: pruning by statistics of the layers' inputs.
#pragma once
#include <optional>

#include "libsten/core/base/named_enum.h"
#include "libsten/core/base/shape.h"

namespace sten {

// Distribution of the total sparsity over tensors.
enum class AllocationMethod { error, sensitivity, owl };
inline const std::vector<std::string>& names_of(AllocationMethod) {
  static const std::vector<std::string> names = {"error", "sensitivity", "owl"};
  return names;
}

struct CalibrationOptions {
  std::string statistics;                    // file of statistics
  std::string data;                          // or data to compute them from, as of sten-run
  std::optional<Index> samples;              // rows of data; default 64
  std::optional<Index> window;               // tokens of a row of text; default: as sten-run
  std::string cache;                         // directory of a calibration to continue; empty: none
  std::optional<AllocationMethod> allocate;  // default: the same sparsity for all
  std::optional<double> damping;             // of the Gram matrix, as a share of its mean diagonal

  bool is_given() const { return !statistics.empty() || !data.empty(); }
  Index rows() const { return samples.value_or(64); }
};

// Error (usage) unless samples and window are positive.
void check_sizes(const CalibrationOptions& o);

}  // namespace sten
