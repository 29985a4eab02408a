// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/ops/products/product_output.h"

#include <algorithm>

#include "kernels/elementwise.h"
#include "libsten/core/layout/masked.h"
#include "libsten/core/sparsify/same_pattern.h"

namespace sten {

Tensor masked_gradient(const Tensor& w, const std::function<void(Values&)>& fill) {
  const Masked& m = w.as<Masked>();
  Values v = Values::uninitialized(m.values.dtype(), m.values.size());
  fill(v);
  with_width(v.width(), [&]<class U>(U) {
    U* to = v.mutate<U>().data();
    parallel_for(v.size(), mask_grain, [&](Index begin, Index end) {
      kernels::elementwise().of<U>().mask_values(to + begin, m.mask.data() + begin / 8, end - begin,
                                                 to + begin);
    });
  });
  return w.with_values(std::move(v));
}

void check_same_pattern(std::string_view op, const Tensor& w, const OutFormat& format) {
  if (format.tmp != w.spec())
    fail_usage("{}: same-pattern into {} of a tensor in {}", op, format.tmp.str(), w.spec().str());
}

bool has_product_grads(const Signature& s, const std::vector<std::size_t>& factors) {
  static const Name same_pattern(SamePattern::name), dense("dense");
  for (std::size_t i = 0; i < s.out.size(); ++i) {
    const OutSignature& o = s.out[i];
    if (o.is_none() || (o.local && writes_rows(o.tmp))) continue;
    if (o.inline_by != same_pattern || o.tmp == dense || o.tmp != s.in[i + 1] ||
        std::ranges::find(factors, i) == factors.end())
      return false;
  }
  return true;
}

void add_product_grad(Operators& all, Name op, std::vector<Name> in,
                      std::vector<std::size_t> factors, Implementation run) {
  const std::size_t outputs = in.size() - 1;
  add_streamed(all, op, in, outputs, run);
  all.add({op, std::move(in), std::vector<OutSignature>(outputs, {any::sparsifier, any::layout})},
          std::move(run), [factors = std::move(factors)](const Signature& s) {
            return has_product_grads(s, factors);
          });
}

}  // namespace sten
