#include "libsten/product/bf16_product.h"

#include "libsten/product/bf16_packed.h"
#include "libsten/product/bf16_task.h"

namespace sten {
template <class X, class Y>
void bf16_product(const Tensor& a, const X& x, const Y& y,
                  const typename EpilogueFor<Y>::Type& epilogue) {
  const Shape shape = a.shape();
  if (shape.size() != 2 || x.features != shape[1] || y.features != shape[0] || x.tokens != y.tokens)
    fail_usage("product: {} times {} features of {} tokens is not {} features of {} tokens",
               to_string(shape), x.features, x.tokens, y.features, y.tokens);
  const auto packed = a.derived().get<Bf16Packed>([&] { return pack_bf16(a); });
  bf16_tiles_product(*packed, x, y, epilogue);
}

#define STEN_BF16_PRODUCT(X, Y)                                 \
  template void bf16_product(const Tensor&, const X&, const Y&, \
                             const typename EpilogueFor<Y>::Type&)
STEN_BF16_PRODUCT(Pairs, PairsOut);
STEN_BF16_PRODUCT(Pairs, ActivationsOut);
STEN_BF16_PRODUCT(Activations, PairsOut);
STEN_BF16_PRODUCT(Activations, ActivationsOut);
STEN_BF16_PRODUCT(Activations16, PairsOut);
STEN_BF16_PRODUCT(Activations16, ActivationsOut);

}  // namespace sten
