// sten-convert: the tensors of a checkpoint in another layout.
#pragma once
#include "libsten/run/rewrite.h"

namespace sten {

struct ConvertOptions {
  std::string input;
  OutputOptions output{.path = {}, .writes_graph = false};
  Patterns patterns;
  // A layout's spec; of nm and nmg with fit=... for the sparsifier. Or auto: of each tensor that in
  // which it takes least, among those that lose nothing.
  std::string to;
  bool lossless = false;       // refuse to drop a nonzero
  std::string device = "cpu";  // or cuda, cuda:N
  bool show_progress = false;
};

// Error (usage) for what is wrong whatever the input.
void check_options(const ConvertOptions& options);
// Those that decide bytes, in canonical order. Error (usage) as above.
Options deciding_options(const ConvertOptions& options);
// As it is before the first tensor.
Report convert_report();

// Every layout to every other, stored positions kept. A tensor that nm or nmg cannot hold as it is
// is pruned to it, which the report says; with `lossless` that is a check that fails.
Outcome convert_checkpoint(const ConvertOptions& options);

}  // namespace sten
