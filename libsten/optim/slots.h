// Where the values of a layout are in the tensor.
#pragma once
#include <memory>
#include <vector>

#include "libsten/tensor/tensor.h"

namespace sten {

// For each of values() its dense offset; -1 for what is not stored: padding, and what a mask drops.
using SlotOffsets = std::vector<Index>;

// For any layout that has `values`: O(size of the dense tensor), once per set of positions
// (Tensor::of_positions).
std::shared_ptr<const SlotOffsets> slot_offsets(const Tensor& x);

// The same of a tensor on a device: offsets from 1 on, and 0 for what is not stored. Error (usage) for
// 2^32 elements and more.
std::shared_ptr<const Array<std::uint32_t>> slot_indices(const Tensor& x);

}  // namespace sten
