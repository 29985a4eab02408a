// How much magnitude each structure keeps at which sparsity: the paper's figure of energy.
#pragma once
#include "libsten/run/rewrite.h"

namespace sten {

struct SweepOptions {
  std::string input;
  Patterns patterns;
  std::optional<Index> axis;   // of n:m and n:m:g: 0 down columns, 1 along rows; or their defaults
  std::string plot;            // a file for the chart, SVG; empty: none
  bool force = false;          // it may be replaced
  std::string device = "cpu";  // or cuda, cuda:N
  bool show_progress = false;
};

// Prunes the selected dense tensors, each for itself and in memory alone, to unstructured
// sparsities, n:m, n:m:g at several g, n:m:g over tiles and blocks. A row per structure: measured sparsity and
// energy, both over all of the tensors.
Outcome sweep_energy(const SweepOptions& options);

}  // namespace sten
