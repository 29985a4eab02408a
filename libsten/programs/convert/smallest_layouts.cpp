// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/convert/smallest_layouts.h"

#include "libsten/files/system/lack_of_memory.h"
#include "libsten/programs/measure/energy_sums.h"
#include "libsten/report/progress.h"

namespace sten {

std::vector<std::optional<Spec>> smallest_layouts(const Checkpoint& in,
                                                  const std::vector<bool>& chosen,
                                                  bool show_progress) {
  std::vector<std::optional<Spec>> layouts(chosen.size());
  std::uint64_t all_bytes = 0;
  for (const CheckpointTensor& t : in.tensors()) all_bytes += t.bytes();
  Progress progress("sten-convert: layouts", all_bytes, show_progress);
  for (const std::size_t i : in.data_order()) {
    const CheckpointTensor& t = in.tensors()[i];
    progress.add(t.bytes());
    if (!chosen[i]) continue;
    if (t.shape.size() < 2) {
      layouts[i] = t.layout;
      continue;
    }
    layouts[i] = or_lack_of_memory(in.name(), t.name, [&] {
      const Weights w(in.load(t));
      return smallest_layout({t.layout, static_cast<Index>(t.loaded_bytes())},
                             Occupancy(width_of(t.dtype), w.stored), held_patterns(w.nonzero));
    });
    in.drop(t);
  }
  return layouts;
}

}  // namespace sten
