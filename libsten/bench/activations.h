// Times of training steps whose hidden activations are sparse.
#pragma once
#include "libsten/bench/bench.h"

namespace sten {

// A linear layer, a relu and another linear layer, on normal numbers, for mse, by AdamW: shapes are
// INxHIDDENxOUT, a batch has --batch rows. For each layout of `activations`, with its sparsity, the
// biases of the hidden layer leave as many zeros; a note says what share there was. Rows: "dense"
// and "activations", a step; "linear", the second layer's forward pass alone, dense and of
// activations in the layout. Ratios are to the same of dense activations.
std::vector<BenchRow> bench_activations(const BenchOptions& options,
                                        std::vector<std::string>& notes);

}  // namespace sten
