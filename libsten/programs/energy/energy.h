// SPDX-License-Identifier: Apache-2.0
// sten-energy: measures sparsity, energy and sizes of a checkpoint.
#pragma once
#include "libsten/core/base/device_spec.h"
#include "libsten/programs/rewrite/rewrite.h"

namespace sten {

struct EnergyOptions {
  std::string input;
  // The original, or a directory of originals (original_of()); empty: no energy.
  std::string against;
  Patterns patterns;
  std::optional<double> min_energy;    // a check on the total
  std::optional<double> min_sparsity;  // a check on the total
  std::vector<std::string> require;    // PATTERN=SPEC, nm or nmg: required structure of the tensors
  DeviceSpec device;
  bool show_progress = false;
};

// Error (usage) for options that are wrong for every input.
void check_options(const EnergyOptions& options);
// The report without rows.
Report energy_report();

// Returns the original of an input: in a directory of originals, the entry with the input's name,
// or whose result_name() is that name (x.onnx for x.safetensors). Returns `against` if it is a
// file, or a checkpoint without such an entry. Among several entries, the manifest of the input's
// batch decides. Error (usage) if none or several are found.
std::string original_of(const std::string& input, const std::string& against);

// Reports sparsity, energy, and bytes in each layout that holds any pattern, per tensor and in
// total. Patterns select tensors; by default weights (by name) and sparse tensors.
Outcome measure_energy(const EnergyOptions& options);

}  // namespace sten
