// Sums of tensors over ranks, whatever the layout.
#pragma once
#include <string>

#include "libsten/comm/communicator.h"
#include "libsten/tensor/tensor.h"

namespace sten {

struct SumOverRanks {
  Tensor sum;
  std::string plan;  // one line: what travelled, and why
};

// The sum of what each rank gives, float32 tensors of one shape, the same on all ranks. A call of all
// ranks. What travels:
// - of dense tensors, all values;
// - of sparse ones of one layout that have the same positions (a hash of them is exchanged first), the
//   stored values: no positions. The sum has the layout;
// - where positions differ, a bit for each element, and then values at the union of the positions. The
//   sum has the layout if that holds any positions, else it is masked;
// - where that would be no less than all values, as well as where layouts differ, all values. The sum
//   is dense.
// Error (usage), which all ranks have, where shapes differ, or a tensor is not float32.
SumOverRanks sum_over_ranks(Communicator& ranks, const Tensor& mine,
                            Transport by = Transport::float32);

}  // namespace sten
