// The weights of a model that sten-bench model measures, in a layout.
#pragma once
#include "libsten/bench/bench_layout.h"
#include "libsten/bench/model.h"

namespace sten {

// What rows say of the weights.
struct LayoutOfRows {
  std::string name;
  std::string zeros{};                   // as BenchRow::zeros
  std::optional<double> sparsity{};      // share of zeros of the weights in that layout
  std::optional<Index> ignored_zeros{};  // as BenchRow::ignored_zeros
};

// `names`: those of `values` that are in the layout. A note says which operators ignore zeros.
LayoutOfRows layout_of_rows(const BenchGraph& model, std::string name, BenchZeros zeros,
                            const NamedValues<Tensor>& values,
                            const std::vector<std::string>& names, std::vector<std::string>& notes);

// Puts the dense weights of `values` that could be sparse into the layout, as far as it holds them,
// and returns their names; of a file's zeros also those without zeros stay dense. Notes say how many
// do. Error (usage) if all do.
std::vector<std::string> put_into_layout(const BenchLayout& layout, const BenchGraph& model,
                                         NamedValues<Tensor>& values,
                                         std::vector<std::string>& notes);

}  // namespace sten
