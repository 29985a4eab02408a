// SPDX-License-Identifier: Apache-2.0
// Rivals: products of a sparse matrix with a dense one by other libraries.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "libsten/core/base/shape.h"

namespace sten {

struct SparseRival {
  std::string name;  // "libxsmm 1.17"
  using Product = std::function<void(const float* in, float* out)>;
  // Prepares a, [m,k] row-major with its zeros, for products with n columns, or with `linear` with
  // n tokens: C[m,n] = A B[k,n], or Y[n,m] = X[n,k] A^T. Uses `threads` threads.
  std::function<Product(const float* a, Index m, Index k, Index n, bool linear, int threads)>
      prepare;
};

// The rivals that are linked to the program; each adds itself before main().
std::vector<SparseRival>& sparse_rivals();

// Error that starts with the name if checked elements of a product are wrong.
void check_product(const std::string& name, const float* a, Index m, Index k, Index n, bool linear,
                   const float* in, const float* out);

}  // namespace sten
