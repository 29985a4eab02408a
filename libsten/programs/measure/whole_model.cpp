// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/measure/whole_model.h"

#include "libsten/programs/measure/storage_counts.h"
#include "libsten/report/report.h"

namespace sten {

double WholeModel::sparsity() const { return share(zeros, elements); }

std::string WholeModel::note() const {
  return fmt::format("whole model: sparsity {}; tensors {} before, {} after",
                     shown_cell(sparsity(), Unit::fraction), shown_cell(bytes_before, Unit::bytes),
                     shown_cell(bytes_after, Unit::bytes));
}

WholeModel left_alone(const Checkpoint& in, const std::function<bool(std::size_t)>& is_pruned) {
  WholeModel w;
  for (std::size_t i = 0; i < in.tensors().size(); ++i) {
    const CheckpointTensor& t = in.tensors()[i];
    if (is_pruned(i)) continue;
    add_to(w.elements, size_of(t.shape));
    w.bytes_before += static_cast<Index>(t.bytes());
    w.bytes_after += static_cast<Index>(t.loaded_bytes());
    if (!t.is_sparse()) continue;
    add_to(w.zeros, storage_counts(in.load(t)).zeros);
    in.drop(t);
  }
  return w;
}

}  // namespace sten
