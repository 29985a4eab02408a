// Products of a sparse matrix with a dense one by other libraries, measured beside ours.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "libsten/base/shape.h"

namespace sten {

struct SparseRival {
  std::string name;  // "libxsmm 1.17"
  using Product = std::function<void(const float* in, float* out)>;
  // Makes of a, [m,k] and row-major with its zeros, what products with n columns need, or with
  // `linear` with n tokens, on so many threads: C[m,n] = A B[k,n], or Y[n,m] = X[n,k] A^T.
  std::function<Product(const float* a, Index m, Index k, Index n, bool linear, int threads)>
      prepare;
};

// Those that a program was linked with add themselves before main().
std::vector<SparseRival>& sparse_rivals();

// Error that begins with the name if some elements of such a product are wrong.
void check_product(const std::string& name, const float* a, Index m, Index k, Index n, bool linear,
                   const float* in, const float* out);

}  // namespace sten
