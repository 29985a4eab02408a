// SPDX-License-Identifier: Apache-2.0
// All-reduce of tensors in any layout.
#pragma once
#include <string>

#include "libsten/core/tensor/tensor.h"
#include "libsten/training/comm/communicator.h"

namespace sten {

struct SumOverRanks {
  Tensor sum;
  std::string plan;  // a line on the messages and their reason
};

// Returns the sum over all ranks of float32 tensors of one shape, the same on all ranks. All ranks
// call this function. Messages contain:
// - for dense tensors, all values;
// - for sparse tensors of one layout with equal positions (compared by a hash), the stored values.
//   The sum has the same layout;
// - for different positions, a bit per element, then the values at the union of positions. The sum
//   has the same layout if it can hold any positions, else it is masked;
// - for different layouts, and if the above is not smaller, all values. The sum is dense.
// Error (usage) on all ranks for different shapes, and if a tensor is not float32.
SumOverRanks sum_over_ranks(Communicator& ranks, const Tensor& mine,
                            Transport by = Transport::float32);

}  // namespace sten
