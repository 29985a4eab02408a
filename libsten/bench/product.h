// One form of a product, ready to be run by any dense library or layout, again and again.
#pragma once
#include "libsten/base/dtype.h"
#include "libsten/bench/bench_layout.h"
#include "libsten/bench/rival.h"
#include "libsten/linalg/dense_library.h"

namespace sten {

// "gemm": C[M,N] = A[M,K] B[K,N]. "linear": Y[N,M] = X[N,K] A^T. "chain": eight linears K -> M -> K
// over N tokens, each with one of two weights. How gradients go back: "transposed", dX[N,K] =
// dY[N,M] A, and "sampled", dA[M,K] = dC[M,N] B[K,N]^T, of which a sparse A needs its own
// positions.
class BenchProduct {
 public:
  static constexpr int chain_length = 8;

  // shape: M, K, N. Error (usage) for another form.
  BenchProduct(const std::string& form, const Shape& shape, std::uint64_t seed);

  // The whole of it: `products` products.
  std::function<void()> dense(const DenseLibrary& library, int threads);
  // The same by oneDNN with factors of a precision, which are rounded to it before; sums and results
  // are float32, but within a chain results are of that precision, too.
  struct Low {
    std::string library, kernel;
    bool packs;  // the weight was put into the library's own order before
    std::function<void()> run;
  };
  // BF16, F16, and I8 with a scale for each row of the weight and each token, of gemm and linear;
  // F32 in the library's own order. Empty where the library has none.
  std::vector<Low> dense_low(DType precision, int threads);
  struct Sparse {
    std::function<void()> run;
    // What the first product with a weight does beside: for each weight once. Empty: nothing.
    std::function<void()> pack;
    int packed;    // weights
    double flops;  // useful ones of one product, on average: 2 for each stored value and column
    std::vector<Dense> dense{};  // the weights with their zeros; empty: for error() of no use
  };
  Sparse sparse(const BenchLayout& layout);
  // With factors of bfloat16 and float32 results, dense too; activations are there row-major, and are
  // paired within the time. No value for a form that is not forward.
  std::optional<Sparse> own_bf16(const BenchLayout& layout);

  // What ran last, against the product of these weights (of the dense ones, if none are given) in
  // double precision: the largest |difference| over the largest |element|, of some tokens.
  double error(const std::vector<Dense>& weights = {}) const;
  // Of the same numbers; the layout is none that prunes by its conversion. Error where the rival
  // multiplies wrongly.
  Sparse sparse(const BenchLayout& layout, const SparseRival& rival, int threads);

  // Whether a SparseRival has it.
  bool is_forward() const { return form_ != "transposed" && form_ != "sampled"; }
  int products() const { return form_ == "chain" ? chain_length : 1; }
  double dense_flops() const { return 2.0 * m_ * k_ * n_; }

 private:
  int weights() const { return form_ == "chain" ? 2 : 1; }
  // What product i of the chain reads and writes: the start is not overwritten.
  const float* in(int i) const;
  float* out(int i);

  std::function<void()> sparse_run(std::shared_ptr<const std::vector<Tensor>> weights);

  std::string form_;
  Index m_, k_, n_;
  Dense weights_[2];         // [M,K]; of a chain [K,M] too
  Dense start_;              // what is multiplied first
  Dense other_;              // "sampled": B
  Array<float> odd_, even_;  // what products write
};

}  // namespace sten
