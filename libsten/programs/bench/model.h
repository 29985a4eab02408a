// SPDX-License-Identifier: Apache-2.0
// Benchmark of the forward pass of a BERT or an ONNX model.
#pragma once
#include "libsten/programs/bench/bench_graph.h"
#include "libsten/programs/bench/bench_options.h"

namespace sten {

// Rows for each model and number of threads, in float32: dense, with the linear weights in each
// layout, or with all weights as in the file (stored_layout). There are rows for "forward", the
// whole pass by an Executor, and for each operator alone; in bfloat16, if requested, only
// "forward", with its error relative to float32. A BERT is measured without the head. Ratios are
// relative to the same rows of the dense model. Adds notes on the model.
std::vector<BenchRow> bench_model(const BenchOptions& options, std::vector<std::string>& notes);

}  // namespace sten
