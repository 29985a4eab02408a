// SPDX-License-Identifier: Apache-2.0
// Bench layout: the layout of a benchmark's command line, and how its operand is made.
#pragma once
#include <optional>

#include "libsten/core/tensor/tensor.h"

namespace sten {

// The source of zeros.
enum class BenchZeros { pruned, file };

// Layouts with their own sparsifier ("nmg:n=1,m=10,g=4[,fit=...]", "nm:n=2,m=4") convert dense
// values. Other layouts ("csr[:sparsity=0.9]") convert values that were pruned by magnitude, for
// bcsr in blocks. Values of a file are pruned if the layout has `sparsity`, otherwise they keep the
// zeros of the file, which the layout must hold.
struct BenchLayout {
  std::string name;  // for reports; includes the sparsity
  Spec layout;
  std::optional<Spec> sparsifier;  // part of the conversion
  std::optional<Spec> pruned;      // before the conversion
  BenchZeros zeros = BenchZeros::pruned;

  // `numbers`: file for values of a file. Error (usage), also for a sparsity of n:m other than 1 -
  // n/m.
  static BenchLayout parse(std::string_view text, BenchZeros numbers = BenchZeros::pruned);
  // Returns the operand of the conversion.
  Dense prepare(const Dense& x) const;
  // Converts the result of prepare(). Error if the layout cannot hold the zeros of a file.
  Tensor convert(const Dense& prepared) const;
  // The spec that prunes the values of a file: "csr:sparsity=0.9".
  std::string pruning() const;
};

// Parses "768x3072x4096", or the name of a shape; returns the first `rank` extents. Error (usage).
Shape parse_bench_shape(const std::string& text, std::size_t rank);

}  // namespace sten
