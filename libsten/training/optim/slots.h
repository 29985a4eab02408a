// SPDX-License-Identifier: Apache-2.0
// Slots: dense offsets of the values of a layout.
#pragma once
#include <memory>
#include <vector>

#include "libsten/core/tensor/tensor.h"

namespace sten {

// The dense offset of each element of values(); -1 for padding and elements that a mask prunes.
using SlotOffsets = std::vector<Index>;

// Whether per-value state of this weight has the weight's shape, instead of one element per slot: the
// values are dense, or the layout has no field `values`.
bool has_dense_state(const Tensor& weight);

// For every layout that has `values`. O(size of the dense tensor), cached with the tensor's
// positions (Tensor::of_positions).
std::shared_ptr<const SlotOffsets> slot_offsets(const Tensor& x);

// The same for a tensor on a device: offset + 1, and 0 for elements that are not stored. Error
// (usage) for 2^32 elements or more.
std::shared_ptr<const Array<std::uint32_t>> slot_indices(const Tensor& x);

}  // namespace sten
