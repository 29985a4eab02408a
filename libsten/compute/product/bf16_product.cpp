// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/product/bf16_product.h"

#include <algorithm>

#include "libsten/compute/product/bf16_packed.h"
#include "libsten/compute/product/bf16_small_batch.h"
#include "libsten/compute/product/bf16_task.h"
#include "libsten/compute/product/single_token.h"
#include "libsten/compute/product/sparse_product.h"
#include "libsten/core/layout/masked.h"
#include "libsten/core/layout/nmgv.h"

namespace sten {
namespace {

bool supports_small_batch(const Tensor& w, const ProductCall& call) {
  if (has_dense_values(w)) return call.tokens <= narrow_panel_width;
  return call.tokens <= bf16_max_small_batch && has_sparse_product(w.layout());
}
bool has_shared_columns(const Tensor& w, const ProductCall&) {
  return has_dense_values(w) || w.is<Nmgv>();
}
// Matrix tiles are fast enough to multiply zeros too.
bool supports_zeros(const Tensor& w, const ProductCall&) {
  return kernels::active_isa() >= kernels::Isa::amx && has_sparse_product(w.layout());
}

// Activations that kernels read or write by way of panels: the features of an interleaved token are
// row-major bfloat16.
template <class X>
const X& row_major_token(const X& x) {
  return x;
}
Activations16 row_major_token(const Interleaved& x) {
  return {ActivationLayout::tokens, x.features, 1, x.at};
}

void multiply_token(const Bf16Packed& a, const auto& x, const ActivationsOut& y,
                    const Epilogue& epilogue) {
  bf16_tiles_product(a, row_major_token(x), y, epilogue);
}
void multiply_token(const Bf16Packed& a, const auto& x, const InterleavedOut& y,
                    const InterleavedEpilogue& epilogue) {
  thread_local Scratch memory;
  float* const sums = memory.of(std::max<Index>(1, a.rows));
  multiply_token(a, x, ActivationsOut{ActivationLayout::tokens, a.rows, 1, sums}, {});
  write_token(sums, a.rows, y, epilogue);
}

template <class Factor>
Bf16ProductImpl::Multiply packed_in(const Tensor& w) {
  const auto multiply = [factor = Factor(w)](const Interleaved& x, const auto& y,
                                             const auto& epilogue) {
    factor.multiply(x, y, epilogue);
  };
  return {multiply, multiply};
}

constexpr Bf16ProductImpl bf16_impls[] = {
    {"pairs of few tokens: the weight is read once, sums are float32", supports_small_batch,
     packed_in<Bf16SmallBatchFactor>},
    {"pairs, with float32 sums", has_shared_columns, packed_in<Bf16Factor>},
    {"pairs, with float32 sums; as dense, but for columns that no row of a tile has",
     supports_zeros, packed_in<Bf16Factor>},
};

}  // namespace

Bf16Factor::Bf16Factor(const Tensor& a)
    : packed_(a.derived().get<Bf16Packed>([&] { return pack_bf16(a); })) {}

template <class X, class Y>
void Bf16Factor::multiply(const X& x, const Y& y,
                          const typename EpilogueFor<Y>::Type& epilogue) const {
  check_extents("product", packed_->rows, packed_->cols, x, y);
  if (x.tokens == 1)
    multiply_token(*packed_, x, y, epilogue);
  else
    bf16_tiles_product(*packed_, x, y, epilogue);
}

const Bf16ProductImpl* bf16_product_impl(const Tensor& w, Index tokens) {
  if (w.dtype() != DType::F32 && w.dtype() != DType::BF16) return nullptr;
  return first_supporting(bf16_impls, w, {tokens});
}

#define STEN_BF16_PRODUCT(X, Y) \
  template void Bf16Factor::multiply(const X&, const Y&, const EpilogueFor<Y>::Type&) const
STEN_BF16_PRODUCT(Interleaved, InterleavedOut);
STEN_BF16_PRODUCT(Interleaved, ActivationsOut);
STEN_BF16_PRODUCT(Activations, InterleavedOut);
STEN_BF16_PRODUCT(Activations, ActivationsOut);
STEN_BF16_PRODUCT(Activations16, InterleavedOut);
STEN_BF16_PRODUCT(Activations16, ActivationsOut);

}  // namespace sten
