// SPDX-License-Identifier: Apache-2.0
// sten-convert: converts the tensors of a checkpoint to another layout, or their values to another
// type.
#pragma once
#include "libsten/core/base/device_spec.h"
#include "libsten/programs/rewrite/rewrite.h"

namespace sten {

struct ConvertOptions {
  std::string input;
  OutputOptions output{.path = {}, .writes_graph = false};
  Patterns patterns;
  // A layout's spec, for nm and nmg with fit=... of the sparsifier. auto: for each tensor the
  // smallest lossless layout. Empty: dense for a GGUF file, else layouts do not change, and
  // output.type is given.
  Spec to;
  bool lossless = false;  // refuse to drop nonzeros
  DeviceSpec device;
  bool show_progress = false;
};

// Error (usage) for options that are wrong for every input.
void check_options(const ConvertOptions& options);
// Options that decide bytes, in canonical order. Error (usage) as check_options().
Options deciding_options(const ConvertOptions& options);
// The layout that decides the names of outputs, for output_for(): `to`, or dense.
std::string layout_in_names(const ConvertOptions& options);
// The report without rows.
Report convert_report();

// Converts every layout to every other and keeps all stored positions. A tensor that nm or nmg
// cannot hold is pruned to the layout, which the report mentions; with `lossless`, this is a failed
// check.
Outcome convert_checkpoint(const ConvertOptions& options);

}  // namespace sten
