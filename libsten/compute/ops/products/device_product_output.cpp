// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/ops/products/device_product_output.h"

#include <algorithm>

#include "libsten/core/layout/masked.h"
#include "libsten/core/sparsify/same_pattern.h"

namespace sten {

const float* elements_on_device(std::string_view op, const Tensor& x) {
  if (x.dtype() != DType::F32)
    fail_unsupported("{} on a device supports F32, got {}", op, name_of(x.dtype()));
  return reinterpret_cast<const float*>(x.values()->bytes().data());
}

Tensor gradient_on_device(std::string_view op, const Tensor& w, const OutFormat& format,
                          const std::function<void(float*)>& fill) {
  Dense dense = output_on_device(w.shape());
  float* to = floats_of_output(dense);
  fill(to);
  if (format.tmp.is(Dense::name)) return dense;
  check_same_pattern(op, w, format);
  const Masked& m = w.as<Masked>();
  launch(&kernels::ElementwiseFunctions::mask_values, kernels::Elements{to, 4, dense.values.size()},
         m.mask.data(), to);
  return w.with_values(std::move(dense.values));
}

Tensor gradient_on_device(std::string_view op, const Call& call, std::size_t i, const Tensor& w,
                          const std::function<void(float* to, bool adds)>& fill) {
  auto sum = call.add_to_sum(
      i, [&](Values& v) { fill(reinterpret_cast<float*>(v.mutate_bytes()), true); });
  if (sum) return *std::move(sum);
  return gradient_on_device(op, w, call.out(i), [&](float* to) { fill(to, false); });
}

void add_device_product_grad(Operators& all, Name op, std::vector<Name> in,
                             std::vector<std::size_t> factors, Implementation run) {
  std::vector<OutSignature> out(in.size() - 1, {any::sparsifier, any::layout});
  all.add({op, std::move(in), std::move(out), Device::cuda}, std::move(run),
          [factors = std::move(factors)](const Signature& s) {
            static const Name same_pattern(SamePattern::name), dense(Dense::name);
            for (std::size_t i = 0; i < s.out.size(); ++i) {
              const OutSignature& o = s.out[i];
              const bool is_pattern = o.inline_by == same_pattern && o.tmp != dense &&
                                      o.tmp == s.in[i + 1] &&
                                      std::ranges::find(factors, i) != factors.end();
              if (!o.is_none() && !o.is_dense() && !is_pattern) return false;
            }
            return true;
          });
}

}  // namespace sten
