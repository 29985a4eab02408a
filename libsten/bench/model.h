// Times of a model's forward pass: a BERT's, or that of an ONNX model.
#pragma once
#include "libsten/bench/bench.h"
#include "libsten/graph/graph.h"

namespace sten {

struct BenchGraph {
  Graph graph;
  NamedValues<Tensor> values;       // weights as they are stored, inputs and constants
  std::vector<std::string> sparse;  // weights that layouts are for
  Shape shape;                      // how reports name it, with
  std::string name{};               // of rows; empty: a BERT, or that of a file
  std::string file{};               // that the weights are from; empty: random ones
};

// Rows for each model and number of threads: dense, and with the weights of linear layers in each
// layout, or all weights as the file has them (stored_layout), in float32; and in bfloat16 where that
// is asked for: then "forward" alone, with its error to the same in float32. There are
// "forward", all of it by an Executor, and one for each operator run by itself. Of a BERT it is the encoder; the
// masked-language-model head is left out. Ratios are those to the dense model, of an operator to
// what it takes there. What there is to say of the model goes to `notes`.
std::vector<BenchRow> bench_model(const BenchOptions& options, std::vector<std::string>& notes);

}  // namespace sten
