// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/system/output.h"

#include <algorithm>
#include <vector>

namespace sten {

void commit_together(std::span<Output* const> outputs) {
  for (Output* o : outputs) o->prepare();
  std::vector<Output*> order(outputs.begin(), outputs.end());
  std::stable_partition(order.begin(), order.end(),
                        [](const Output* o) { return !o->is_stream(); });
  std::size_t done = 0;
  try {
    for (; done < order.size(); ++done) order[done]->publish(order.size() > 1);
  } catch (...) {
    while (done > 0) order[--done]->retract();
    throw;
  }
  for (Output* o : order) o->settle();
}

}  // namespace sten
