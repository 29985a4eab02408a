// Products of bfloat16 with float32 sums, on threads() threads.
#pragma once
#include <memory>

#include "libsten/product/interleaved.h"
#include "libsten/tensor/tensor.h"

namespace sten {

template <class Y>
struct EpilogueFor {
  using Type = Epilogue;
};
template <>
struct EpilogueFor<InterleavedOut> {
  using Type = InterleavedEpilogue;
};

// y[M, N] = A[M, K] * x[K, N] and what the epilogue makes of the float32 sums, before they are
// rounded where y is in pairs. X is Pairs, which are worked with where they lie, or what becomes
// pairs on the way: Activations, which are rounded, or Activations16. Y is InterleavedOut or
// ActivationsOut. A is of rank 2, in any layout, of BF16, or of F32, which is rounded; x and y are of
// its extents: else Error (usage). Zeros are multiplied too, but where 16 rows share their columns, as
// in nmgv. What a product makes of A is kept with it.
//
// With A and x after rounding, |y - exact| <= (K + 2) 2^-24 sum |a| |x|; rounding one of them
// adds at most 2^-8 sum |a| |x|, and both 2^-7 (1 + 2^-9) of it. On tiles of AMX numbers below 2^-126
// count as 0.
template <class X, class Y>
void bf16_product(const Tensor& a, const X& x, const Y& y,
                  const typename EpilogueFor<Y>::Type& epilogue = {});

struct Bf16Packed;

// A weight as bf16_product() takes it, packed when this is made: but for the first one its products
// allocate nothing, once each thread has the memory that it works in.
class Bf16Factor {
 public:
  explicit Bf16Factor(const Tensor& a);
  template <class X, class Y>
  void multiply(const X& x, const Y& y, const typename EpilogueFor<Y>::Type& epilogue = {}) const;

 private:
  std::shared_ptr<const Bf16Packed> packed_;
};

}  // namespace sten
