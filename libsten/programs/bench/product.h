// SPDX-License-Identifier: Apache-2.0
// A product in one form, to be run repeatedly by any dense library or layout.
#pragma once
#include "libsten/compute/linalg/dense_library.h"
#include "libsten/core/base/dtype.h"
#include "libsten/programs/bench/bench_layout.h"
#include "libsten/programs/bench/rival.h"

namespace sten {

// "gemm": C[M,N] = A[M,K] B[K,N]. "linear": Y[N,M] = X[N,K] A^T. "chain": eight linears K -> M -> K
// over N tokens, alternating between two weights. Gradients: "transposed", dX[N,K] = dY[N,M] A, and
// "sampled", dA[M,K] = dC[M,N] B[K,N]^T, for a sparse A at its positions only.
class BenchProduct {
 public:
  static constexpr int chain_length = 8;

  // shape: M, K, N. Error (usage) for an unknown form.
  BenchProduct(const std::string& form, const Shape& shape, std::uint64_t seed);

  // Runs all `products` products of the form.
  std::function<void()> dense(const DenseLibrary& library, int threads);
  // The same by oneDNN with factors that are rounded to a precision in advance. Sums and results
  // are float32; inside a chain, results have the precision, too.
  struct Low {
    std::string library, kernel;
    bool packs;  // the weight is packed in advance
    std::function<void()> run;
  };
  // Variants for BF16, F16, and I8 with a scale for each row of the weight and each token, for gemm
  // and linear; for F32 with a packed weight. Empty if the library has none.
  std::vector<Low> dense_low(DType precision, int threads);
  struct Sparse {
    std::function<void()> run;
    // Packing in the first product with a weight, once per weight. Empty: none.
    std::function<void()> pack;
    int packed;    // weights
    double flops;  // useful ones of a product, on average: 2 per stored value and column
    std::vector<Dense> dense{};  // weights with their zeros; empty if error() does not need them
  };
  Sparse sparse(const BenchLayout& layout);
  // With bfloat16 factors and float32 results, also for dense. Activations are row-major;
  // interleaving is part of the time. None for gradients.
  std::optional<Sparse> own_bf16(const BenchLayout& layout);

  // The error of the last result, for some tokens: the largest |difference| from the product of
  // these weights (default: the dense ones) in double, divided by the largest |element|.
  double error(const std::vector<Dense>& weights = {}) const;
  // The product by a rival, for a layout without its own sparsifier. Error if the rival's result is
  // wrong.
  Sparse sparse(const BenchLayout& layout, const SparseRival& rival, int threads);

  // Whether a SparseRival can run the form.
  bool is_forward() const { return form_ != "transposed" && form_ != "sampled"; }
  int products() const { return form_ == "chain" ? chain_length : 1; }
  double dense_flops() const { return 2.0 * m_ * k_ * n_; }

 private:
  int weights() const { return form_ == "chain" ? 2 : 1; }
  // Operand and result of product i of the chain. The start is not overwritten.
  const float* in(int i) const;
  float* out(int i);

  std::function<void()> sparse_run(std::shared_ptr<const std::vector<Tensor>> weights);

  std::string form_;
  Index m_, k_, n_;
  Dense weights_[2];         // [M,K]; of a chain also [K,M]
  Dense start_;              // the first operand
  Dense other_;              // "sampled": B
  Array<float> odd_, even_;  // results
};

}  // namespace sten
