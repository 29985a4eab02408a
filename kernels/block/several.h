// SPDX-License-Identifier: Apache-2.0
// Several kernels of one kind in one launch. Their table is a kernel argument, so nothing has to be
// copied to the device before the launch.
#pragma once
#include <algorithm>
#include <span>

#include "kernels/block/grid.h"

namespace sten::kernels {

// Kernel arguments are at most 4 KB, including those of the grid.
template <class Kernel>
inline constexpr int most_in_arguments = (4096 - 64) / (sizeof(Kernel) + sizeof(std::int32_t));

template <class Kernel, int most = most_in_arguments<Kernel>>
struct Several {
  static constexpr int threads = Kernel::threads;
  std::int32_t count = 0, ends[most]{};  // index after the last block of each
  Kernel parts[most]{};

  // Returns false if there is no room.
  bool add(const Kernel& kernel) {
    static_assert(sizeof(Several) <= 4096 - 32);
    const std::int64_t end = blocks() + kernel.blocks();
    if (count == most || (count > 0 && end >= std::int64_t{1} << 31)) return false;
    ends[count] = static_cast<std::int32_t>(end);
    parts[count++] = kernel;
    return true;
  }
  std::int64_t blocks() const { return count == 0 ? 0 : ends[count - 1]; }
  // The maximum over the parts.
  std::size_t shared_bytes() const {
    std::size_t most_bytes = 0;
    for (int k = 0; k < count; ++k) most_bytes = std::max(most_bytes, shared_bytes_of(parts[k]));
    return most_bytes;
  }
  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t block) const {
    int k = 0;
    while (block >= ends[k]) ++k;
    parts[k](b, k == 0 ? block : block - ends[k - 1]);
  }
};

// Launches kernel_of(x) for each x: a single one directly, several with `most` per launch, or as
// many as kernel arguments can hold.
template <int most = 0, class Grid, class T, class F>
void launch_several(Grid& grid, std::span<const T> all, F&& kernel_of) {
  using Kernel = decltype(kernel_of(all[0]));
  if (all.size() == 1) return grid.launch(kernel_of(all[0]));
  Several<Kernel, most ? most : most_in_arguments<Kernel>> some;
  for (const T& x : all) {
    const Kernel kernel = kernel_of(x);
    if (some.add(kernel)) continue;
    grid.launch(some);
    some = {};
    some.add(kernel);
  }
  if (some.blocks() > 0) grid.launch(some);
}

}  // namespace sten::kernels
