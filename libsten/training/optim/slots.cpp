// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/optim/slots.h"

#include <limits>
#include <numeric>

#include "libsten/core/base/cuda.h"
#include "libsten/core/layout/masked.h"

namespace sten {
namespace {

// Finds offsets in the dense form of a tensor whose values are slot indices, counted from 1.
template <class U>
SlotOffsets find_slots(const Tensor& x, DType dtype) {
  const Index n = x.values()->size();
  Values numbers = Values::uninitialized(dtype, n);
  const auto number = numbers.mutate<U>();
  std::iota(number.begin(), number.end(), U{1});
  const Tensor numbered = x.with_values(std::move(numbers));
  const Dense at = numbered.to_dense();
  const Mask stored = numbered.stored();
  SlotOffsets offsets(n, -1);
  const auto slot = at.values.as<U>();
  for (Index i = 0; i < at.size(); ++i)
    if (slot[i] != 0 && stored[i]) offsets[static_cast<Index>(slot[i]) - 1] = i;
  return offsets;
}

}  // namespace

bool has_dense_state(const Tensor& weight) { return has_dense_values(weight) || !weight.values(); }

std::shared_ptr<const SlotOffsets> slot_offsets(const Tensor& x) {
  return x.of_positions().get<SlotOffsets>([&] {
    if (x.values()->size() < std::numeric_limits<std::uint32_t>::max())
      return find_slots<std::uint32_t>(x, DType::U32);
    return find_slots<std::uint64_t>(x, DType::U64);
  });
}

std::shared_ptr<const Array<std::uint32_t>> slot_indices(const Tensor& x) {
  return x.of_positions().get<Array<std::uint32_t>>([&] {
    const Index n = x.values()->size();
    if (std::max(n, size_of(x.shape())) >= std::numeric_limits<std::uint32_t>::max())
      fail_usage("a weight of {} values does not fit 32-bit slots on a device", n);
    Values numbers = Values::uninitialized(DType::U32, n, x.device());
    launch(&kernels::StepFunctions::number, numbers.mutate<std::uint32_t>().data(), n);
    const Tensor numbered = x.with_values(std::move(numbers));
    const Dense at = numbered.to_dense();
    const Mask stored = numbered.stored();
    Array<std::uint32_t> slots(static_cast<std::size_t>(n), x.device());
    std::uint32_t* to = slots.mutate();
    launch(&kernels::StepFunctions::find, at.values.as<std::uint32_t>().data(), stored.bits.data(),
           at.size(), to);
    return slots;
  });
}

}  // namespace sten
