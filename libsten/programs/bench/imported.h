// SPDX-License-Identifier: Apache-2.0
// ONNX models of sten-bench model.
#pragma once
#include "libsten/programs/bench/bench_graph.h"
#include "libsten/programs/bench/bench_options.h"

namespace sten {

// Returns the weights of the options' model, and inputs of the declared dtypes and shapes. Symbolic
// extents are --batch (8) if named so, or if first and none is named so; else --window (128).
// Integers that index rows are random; other integers and masks are 1; other values are normal.
// Only the matrices of linear nodes and of 1x1 convolutions become sparse. `notes` describe the
// inputs. Error (input) for an input without a shape.
BenchGraph imported_graph(const BenchOptions& options, std::vector<std::string>& notes);

}  // namespace sten
