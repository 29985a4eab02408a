// SPDX-License-Identifier: Apache-2.0
// Products of bfloat16 with float32 sums, on threads() threads.
#pragma once
#include <functional>
#include <memory>

#include "libsten/compute/product/interleaved.h"
#include "libsten/compute/product/product_impl.h"
#include "libsten/core/tensor/tensor.h"

namespace sten {

struct Bf16Packed;

// A weight for bf16_product(), packed by the constructor. After the first product, products
// allocate nothing, once each thread has its scratch.
class Bf16Factor {
 public:
  explicit Bf16Factor(const Tensor& a);
  template <class X, class Y>
  void multiply(const X& x, const Y& y, const typename EpilogueFor<Y>::Type& epilogue = {}) const;

 private:
  std::shared_ptr<const Bf16Packed> packed_;
};

// Computes y[M, N] = A[M, K] * x[K, N] with float32 sums and applies the epilogue before y is
// rounded. X: Interleaved, used in place, or Activations (rounded) or Activations16, which are
// interleaved first. Y: InterleavedOut or ActivationsOut. A: rank 2, any layout, BF16 or F32
// (rounded). Error (usage) for other dtypes and mismatched extents. Multiplies zeros too, unless
// groups of rows share their columns, as in nmgv. The packed A is cached with it.
//
// With rounded A and x, |y - exact| <= (K + 2) 2^-24 sum |a| |x|. Rounding one of them adds at most
// 2^-8 sum |a| |x|, rounding both 2^-7 (1 + 2^-9) of it. AMX tiles treat values below 2^-126 as 0.
template <class X, class Y>
void bf16_product(const Tensor& a, const X& x, const Y& y,
                  const typename EpilogueFor<Y>::Type& epilogue = {}) {
  Bf16Factor(a).multiply(x, y, epilogue);
}

// An implementation of products of interleaved activations.
struct Bf16ProductImpl {
  // Writes results rounded, or as float32.
  struct Multiply {
    std::function<void(const Interleaved&, const InterleavedOut&, const InterleavedEpilogue&)>
        to_interleaved;
    std::function<void(const Interleaved&, const ActivationsOut&, const Epilogue&)> to_floats;
  };
  const char* reason;  // in execution plans
  bool (*supports)(const Tensor& weight, const ProductCall& call);
  Multiply (*pack)(const Tensor& weight);  // weight: of F32 or BF16, not masked
};

// The implementation for calls of up to this many tokens; nullptr if the weight has none that is
// worthwhile, or is neither F32 nor BF16.
const Bf16ProductImpl* bf16_product_impl(const Tensor& w, Index tokens);

}  // namespace sten
