// What a layout of a command line means to a benchmark: numbers that fit it, and how it is made.
#pragma once
#include <optional>

#include "libsten/tensor/tensor.h"

namespace sten {

// "nmg:n=1,m=10,g=4[,fit=...]", "nm:n=2,m=4": dense numbers, pruned by the conversion.
// "csr[:sparsity=0.9]" and all others: numbers that were pruned by magnitude before, bcsr in
// blocks.
struct BenchLayout {
  std::string name;  // for reports; says the sparsity
  Spec layout;
  std::optional<Spec> sparsifier;  // a part of the conversion
  std::optional<Spec> pruned;      // done before it

  // Error (usage).
  static BenchLayout parse(std::string_view text);
  // x as the conversion gets it.
  Dense prepare(const Dense& x) const;
  // The library's way from prepare(x).
  Tensor convert(const Dense& prepared) const;
};

// "768x3072x4096", or a name that stands for one; of `rank` extents, the first ones. Error (usage).
Shape parse_bench_shape(const std::string& text, std::size_t rank);

}  // namespace sten
