// SPDX-License-Identifier: Apache-2.0
// Entries: stored positions and values of a sparse tensor, without its dense form, which may be
// thousands of times larger.
#pragma once
#include <optional>
#include <vector>

#include "libsten/core/layout/nmg.h"
#include "libsten/core/tensor/tensor.h"

namespace sten {

// Positions and values in row-major order.
struct Entries {
  Shape extents;
  std::vector<Index> at;  // dense offsets, ascending
  Values values;          // [at.size()]

  Index size() const { return std::ssize(at); }
};

// The entries of a tensor, including the fillers of n:m and n:m:g, in time and memory proportional
// to its parts. Shares values that are in row-major order. No value for dense, masked, layouts of
// users, and tensors on a device.
std::optional<Entries> entries_of(const Tensor& t);

// The entries that a mask [size()] keeps.
Entries kept_entries(const Entries& e, const Mask& keep);

// The values at ascending dense offsets, as a tensor of rank 1; 0 for offsets without an entry.
Dense values_at(const Entries& e, const std::vector<Index>& at);

// Whether the dense form is large and much larger than the parts. Functions that only read the
// tensor then use entries_of().
bool is_far_larger_dense(const Tensor& t);

// Error unless nmg or nmgv can store the positions at these ascending dense offsets. Equivalent to
// pack(), but visits only chunks that have positions.
void check_nmg_holds(const Shape& extents, const std::vector<Index>& at, const Spec& spec);

}  // namespace sten
