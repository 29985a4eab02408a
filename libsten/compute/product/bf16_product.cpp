#include "libsten/compute/product/bf16_product.h"

#include "libsten/compute/product/bf16_packed.h"
#include "libsten/compute/product/bf16_task.h"

namespace sten {

Bf16Factor::Bf16Factor(const Tensor& a)
    : packed_(a.derived().get<Bf16Packed>([&] { return pack_bf16(a); })) {}

template <class X, class Y>
void Bf16Factor::multiply(const X& x, const Y& y,
                          const typename EpilogueFor<Y>::Type& epilogue) const {
  if (x.features != packed_->cols || y.features != packed_->rows || x.tokens != y.tokens)
    fail_usage("product: {} times {} features of {} tokens does not give {} features of {} tokens",
               to_string({packed_->rows, packed_->cols}), x.features, x.tokens, y.features,
               y.tokens);
  bf16_tiles_product(*packed_, x, y, epilogue);
}

template <class X, class Y>
void bf16_product(const Tensor& a, const X& x, const Y& y,
                  const typename EpilogueFor<Y>::Type& epilogue) {
  Bf16Factor(a).multiply(x, y, epilogue);
}

#define STEN_BF16_PRODUCT(X, Y)                                                              \
  template void Bf16Factor::multiply(const X&, const Y&, const EpilogueFor<Y>::Type&) const; \
  template void bf16_product(const Tensor&, const X&, const Y&, const EpilogueFor<Y>::Type&)
STEN_BF16_PRODUCT(Interleaved, InterleavedOut);
STEN_BF16_PRODUCT(Interleaved, ActivationsOut);
STEN_BF16_PRODUCT(Activations, InterleavedOut);
STEN_BF16_PRODUCT(Activations, ActivationsOut);
STEN_BF16_PRODUCT(Activations16, InterleavedOut);
STEN_BF16_PRODUCT(Activations16, ActivationsOut);

}  // namespace sten
