// SPDX-License-Identifier: Apache-2.0
// Totals over a checkpoint with pruned tensors.
#pragma once
#include <functional>
#include <string>

#include "libsten/files/checkpoint/checkpoint.h"

namespace sten {

struct WholeModel {
  Index elements = 0, zeros = 0, bytes_before = 0, bytes_after = 0;  // of tensors

  double sparsity() const;
  std::string note() const;  // for people
};

// Totals of the skipped tensors. Dense ones are not read, and count as tensors without zeros.
WholeModel left_alone(const Checkpoint& in, const std::function<bool(std::size_t)>& is_pruned);

}  // namespace sten
