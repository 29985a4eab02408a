#include "libsten/ops/product_output.h"

#include "kernels/elementwise.h"
#include "libsten/layout/masked.h"
#include "libsten/sparsify/same_pattern.h"

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
    fail_usage("{}: same-pattern into {} of a tensor that is {}", op, format.tmp.str(),
               w.spec().str());
}

void add_product_grad(Operators& all, Name op, std::vector<Name> in, std::size_t factor,
                      Implementation run) {
  const std::size_t outputs = in.size() - 1;
  const Name layout = in[factor + 1];
  add_streamed(all, op, in, outputs, run);
  if (layout == Name("dense")) return;
  const auto with_factor = [&](const OutSignature& other) {
    std::vector<OutSignature> out(outputs, other);
    out[factor] = {Name(SamePattern::name), layout};
    return out;
  };
  all.add({op, in, with_factor({})}, run);
  all.add({op, in, with_factor({any::local, any::layout})}, std::move(run),
          [factor](const Signature& s) {
            for (std::size_t i = 0; i < s.out.size(); ++i)
              if (i != factor && !s.out[i].is_none() && !writes_rows(s.out[i].tmp)) return false;
            return true;
          });
}

}  // namespace sten
