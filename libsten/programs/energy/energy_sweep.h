// SPDX-License-Identifier: Apache-2.0
// Energy sweep: kept magnitude of each structure by sparsity (the paper's figure of energy).
#pragma once
#include "libsten/core/base/device_spec.h"
#include "libsten/programs/rewrite/rewrite.h"

namespace sten {

struct SweepOptions {
  std::string input;
  Patterns patterns;
  std::optional<Index> axis;  // of n:m and n:m:g: 0 down columns, 1 along rows; none: the defaults
  std::string plot;           // the SVG file of the chart; empty: none
  bool force = false;         // replace an existing chart
  DeviceSpec device;
  bool show_progress = false;
};

// Prunes the selected dense tensors in memory, each on its own, to unstructured sparsities, n:m,
// n:m:g at several g, n:m:g of tiles, and blocks. The report has a row per structure: measured
// sparsity and energy over all tensors.
Outcome sweep_energy(const SweepOptions& options);

}  // namespace sten
