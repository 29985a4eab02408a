// What a sparse tensor stores, seen without its dense form, which may be thousands of times larger.
#pragma once
#include <optional>
#include <vector>

#include "libsten/layout/nmg.h"
#include "libsten/tensor/tensor.h"

namespace sten {

// Positions and values in the order of the dense elements.
struct Entries {
  Shape extents;
  std::vector<Index> at;  // dense offsets, ascending
  Values values;          // [at.size()]

  Index size() const { return std::ssize(at); }
};

// Those that the tensor stores, the fillers of n:m and n:m:g among them; in time and memory that
// grow with the tensor's parts. Values that are in this order are shared. None for dense, masked, a
// user's own layout, or on a device.
std::optional<Entries> entries_of(const Tensor& t);

// Those that the mask keeps, which has a bit for each entry: [size()].
Entries kept_entries(const Entries& e, const Mask& keep);

// The values at these offsets, which ascend, as a line; 0 without an entry.
Dense values_at(const Entries& e, const std::vector<Index>& at);

// Whether the dense form is much larger than the parts, and large enough to matter: what only
// looks at the tensor then goes by entries_of().
bool is_far_larger_dense(const Tensor& t);

// Error unless the positions at these dense offsets, ascending, can be stored as nmg or nmgv: as
// pack() of those, but it looks at those chunks only that have any.
void check_nmg_holds(const Shape& extents, const std::vector<Index>& at, const Spec& spec);

}  // namespace sten
