// SPDX-License-Identifier: Apache-2.0
// Outputs and gradients of products on a device, in their formats.
#pragma once
#include "libsten/compute/ops/common/check.h"
#include "libsten/compute/ops/common/device.h"
#include "libsten/compute/ops/products/product_output.h"
#include "libsten/compute/product/device_gemm.h"

namespace sten {

// The elements of a dense or masked tensor, including pruned ones. Unsupported unless they are F32.
const float* elements_on_device(std::string_view op, const Tensor& x);

// A gradient of w, computed dense by fill(float* to). In same-pattern of a masked w, masked-out
// elements are set to 0.
Tensor gradient_on_device(std::string_view op, const Tensor& w, const OutFormat& format,
                          const std::function<void(float*)>& fill);
// The same for gradient i of a call, that of w. If the caller has a sum, `fill` adds to it.
Tensor gradient_on_device(std::string_view op, const Call& call, std::size_t i, const Tensor& w,
                          const std::function<void(float* to, bool adds)>& fill);

// Registers the gradient of a product for dense outputs and, for output i of `factors`, the
// gradient of a sparse in[i + 1] in same-pattern.
void add_device_product_grad(Operators& all, Name op, std::vector<Name> in,
                             std::vector<std::size_t> factors, Implementation run);

}  // namespace sten
