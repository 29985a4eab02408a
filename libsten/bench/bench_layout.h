// What a layout of a command line means to a benchmark: numbers that fit it, and how it is made.
#pragma once
#include <optional>

#include "libsten/tensor/tensor.h"

namespace sten {

// Whose zeros a benchmark measures.
enum class BenchZeros { pruned, file };

// "nmg:n=1,m=10,g=4[,fit=...]", "nm:n=2,m=4": dense numbers, pruned by the conversion.
// "csr[:sparsity=0.9]" and all others: numbers that were pruned by magnitude before, bcsr in
// blocks. Numbers of a file are pruned so if the layout says `sparsity`, and else have the zeros of
// the file, which the layout has to hold.
struct BenchLayout {
  std::string name;  // for reports; says the sparsity
  Spec layout;
  std::optional<Spec> sparsifier;  // a part of the conversion
  std::optional<Spec> pruned;      // done before it
  BenchZeros zeros = BenchZeros::pruned;

  // `numbers`: file for those of a file. Error (usage), also for a sparsity of n:m other than
  // 1 - n/m.
  static BenchLayout parse(std::string_view text, BenchZeros numbers = BenchZeros::pruned);
  // x as the conversion gets it.
  Dense prepare(const Dense& x) const;
  // The library's conversion of prepare(x). Error where the layout does not hold the zeros of a
  // file.
  Tensor convert(const Dense& prepared) const;
  // The text that prunes the numbers of a file first: "csr:sparsity=0.9".
  std::string pruning() const;
};

// "768x3072x4096", or a name that stands for one; of `rank` extents, the first ones. Error (usage).
Shape parse_bench_shape(const std::string& text, std::size_t rank);

}  // namespace sten
