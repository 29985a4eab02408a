// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/product/bf16_product.h"

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

namespace {

template <class X>
X floats_of_token(const X& x, Scratch&) {
  return x;
}
Activations floats_of_token(const Interleaved& x, Scratch& memory) {
  float* wide = memory.of(std::max<Index>(1, x.features));
  kernels::interleaved().widen_features(x.at, x.stride(), x.features, 1, wide, 1);
  return {ActivationLayout::tokens, x.features, 1, wide};
}

// A product with a single token, by way of a narrow panel.
template <class X, class Y>
void multiply_token(const Bf16Packed& a, const X& x, const Y& y,
                    const typename EpilogueFor<Y>::Type& epilogue) {
  thread_local Scratch x_memory, y_memory;
  float* const sums = y_memory.of(std::max<Index>(1, a.rows * narrow_panel_width));
  bf16_tiles_product(a, floats_of_token(x, x_memory),
                     ActivationsOut{ActivationLayout::narrow_panel, a.rows, 1, sums}, {});
  for (Index row = 0; row < a.rows; row += most_token_values)
    write_token(sums + row * narrow_panel_width, narrow_panel_width, row,
                std::min(most_token_values, a.rows - row), y, epilogue);
}

}  // namespace

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
