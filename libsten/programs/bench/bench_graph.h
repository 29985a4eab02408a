// SPDX-License-Identifier: Apache-2.0
// A model that sten-bench measures.
#pragma once
#include "libsten/model/graph/graph.h"

namespace sten {

struct BenchGraph {
  Graph graph;
  NamedValues<Tensor> values;       // weights as stored, inputs and constants
  std::vector<std::string> sparse;  // weights that get layouts
  Shape shape;                      // for reports
  std::string name{};               // of rows; empty: a BERT
  std::string file{};               // of weights; empty: random ones
};

}  // namespace sten
