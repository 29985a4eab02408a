// Times of a BERT's forward pass.
#pragma once
#include "libsten/bench/bench.h"

namespace sten {

// Rows for each model and number of threads: dense, and with the encoder's weights in each layout,
// or all weights as the file has them (stored_layout):
// "forward", all of it, and one for each operator. The masked-language-model head is left out.
// Ratios are those to the dense model, of an operator to what it takes there.
std::vector<BenchRow> bench_model(const BenchOptions& options);

}  // namespace sten
