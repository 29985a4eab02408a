// SPDX-License-Identifier: Apache-2.0
// Benchmark of training steps with sparse hidden activations.
#pragma once
#include "libsten/programs/bench/bench_options.h"

namespace sten {

// Measures a linear layer, a relu and another linear layer on normal values, with mse and AdamW.
// Shapes are INxHIDDENxOUT; a batch has --batch rows. For each layout of `activations`, biases of
// the hidden layer make the share of zeros that the layout asks for; a note has the actual share.
// Rows: "dense" and "activations", a step; "linear", the second layer's forward pass alone. Ratios
// are relative to dense activations.
std::vector<BenchRow> bench_activations(const BenchOptions& options,
                                        std::vector<std::string>& notes);

}  // namespace sten
