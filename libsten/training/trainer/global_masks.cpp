// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/trainer/global_masks.h"

#include "libsten/core/base/fallback.h"
#include "libsten/core/sparsify/global_selection.h"
#include "libsten/training/recipe/sparsity_schedule.h"

namespace sten {

std::vector<GivenMask> global_masks(const Spec& by, const std::vector<GlobalWeight>& weights) {
  std::vector<GlobalWeight> here = weights;
  for (GlobalWeight& w : here) {
    if (w.value.device() == Device::cpu) continue;
    report_on_cpu("one threshold for several tensors", w.value.device());
    w.value = w.value.to(Device::cpu);
  }
  const GlobalSelection selection(
      by, !here.empty() && here.front().scores, here.size(),
      [&](std::size_t k, const std::function<void(const Dense&, const Dense*)>& f) {
        f(here[k].value, here[k].scores);
      },
      by.number(sparsity_key(by)));
  std::vector<GivenMask> masks;
  for (std::size_t k = 0; k < here.size(); ++k)
    masks.push_back(
        {selection.select(k, here[k].value, here[k].scores).to(weights[k].value.device())});
  return masks;
}

}  // namespace sten
