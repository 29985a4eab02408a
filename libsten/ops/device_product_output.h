// Outputs of products on a device, in the formats that their gradients have.
#pragma once
#include "libsten/ops/check.h"
#include "libsten/ops/device.h"
#include "libsten/ops/product_output.h"
#include "libsten/product/device_product.h"

namespace sten {

// The elements of a dense or masked tensor, pruned ones too. Unsupported unless they are F32.
const float* elements_on_device(std::string_view op, const Tensor& x);

// A gradient of w that fill(float* to) writes, dense; in same-pattern of a masked w what is masked
// out is 0.
Tensor gradient_on_device(std::string_view op, const Tensor& w, const OutFormat& format,
                          const std::function<void(float*)>& fill);
// Gradient i of a call, that of w, likewise; if the caller has a sum, `fill` adds to it.
Tensor gradient_on_device(std::string_view op, const Call& call, std::size_t i, const Tensor& w,
                          const std::function<void(float* to, bool adds)>& fill);

// The gradient of a product: serves dense outputs, and same-pattern for output i of `factors`, the
// gradient of in[i + 1], which is not dense.
void add_device_product_grad(Operators& all, Name op, std::vector<Name> in,
                             std::vector<std::size_t> factors, Implementation run);

}  // namespace sten
