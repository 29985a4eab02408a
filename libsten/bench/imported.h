// The ONNX models that sten-bench model measures.
#pragma once
#include "libsten/bench/bench.h"
#include "libsten/bench/model.h"

namespace sten {

// Of the options' model: its weights, and inputs of the declared types and shapes. Extents that are
// open are --batch (8) where they are called so, or are the first and none is, else --window (128).
// Integers that rows are looked up by are drawn from those that there are; other integers and
// masks are 1, other numbers normal. What becomes sparse are the matrices of linear nodes and of 1x1
// convolutions alone.
// `notes` say what inputs are. Error (input) where an input has no shape.
BenchGraph imported_graph(const BenchOptions& options, std::vector<std::string>& notes);

}  // namespace sten
