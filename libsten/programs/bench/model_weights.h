// SPDX-License-Identifier: Apache-2.0
// Weights of a model of sten-bench model in a layout.
#pragma once
#include "libsten/programs/bench/bench_graph.h"
#include "libsten/programs/bench/bench_layout.h"

namespace sten {

// Fields of rows on the weights.
struct LayoutOfRows {
  std::string name;
  std::string zeros{};                   // as BenchRow::zeros
  std::optional<double> sparsity{};      // share of zeros of the weights in the layout
  std::optional<Index> ignored_zeros{};  // as BenchRow::ignored_zeros
};

// `names`: the weights of `values` in the layout. Adds a note on operators that ignore zeros.
LayoutOfRows layout_of_rows(const BenchGraph& model, std::string name, BenchZeros zeros,
                            const NamedValues<Tensor>& values,
                            const std::vector<std::string>& names, std::vector<std::string>& notes);

// Converts the dense weights of `values` that can be sparse to the layout, if it can hold them, and
// returns their names. With a file's zeros, weights without zeros stay dense. Adds notes on the
// number of dense weights. Error (usage) if all stay dense.
std::vector<std::string> put_into_layout(const BenchLayout& layout, const BenchGraph& model,
                                         NamedValues<Tensor>& values,
                                         std::vector<std::string>& notes);

}  // namespace sten
