// sten-energy: what pruning kept.
#pragma once
#include "libsten/run/rewrite.h"

namespace sten {

struct EnergyOptions {
  std::string input;
  // The original, or a directory of originals (original_of()); empty: no energy.
  std::string against;
  Patterns patterns;
  std::optional<double> min_energy;    // a check on the total
  std::optional<double> min_sparsity;  // likewise
  std::vector<std::string> require;    // PATTERN=SPEC, nm or nmg: what the tensors have to be
  std::string device = "cpu";          // or cuda, cuda:N
  bool show_progress = false;
};

// Error (usage) for what is wrong whatever the input.
void check_options(const EnergyOptions& options);
// As it is before the first tensor.
Report energy_report();

// The original of an input in a directory of originals: the entry that has its name, or whose
// result_name() it is, as x.onnx that of x.safetensors. `against` itself where it is a file, or a
// checkpoint without such an entry. Of several the one that made `input`, by the record of its batch.
// Error (usage) where none is found, or several.
std::string original_of(const std::string& input, const std::string& against);

// Per tensor and in total: sparsity, energy, and the bytes it takes in each layout that holds any
// pattern. Weights by name and every sparse tensor, unless patterns say otherwise.
Outcome measure_energy(const EnergyOptions& options);

}  // namespace sten
