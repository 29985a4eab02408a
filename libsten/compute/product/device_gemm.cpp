// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/product/device_gemm.h"

#include <utility>

#include "libsten/core/base/cuda.h"
#include "libsten/core/base/error.h"

namespace sten {
namespace {

thread_local kernels::Factors factors_here = kernels::Factors::float32;

}  // namespace

void device_gemm(kernels::GemmOperands x) {
  x.factors = factors_here;
  on_cuda([&](const kernels::cuda::Backend& cuda, kernels::Stream stream) {
    if (!cuda.products.dense_library()) fail_unsupported("cuBLAS not found");
    cuda.gemm.dense(x, stream);
  });
}

std::optional<kernels::Factors> factors_from(std::string_view name) {
  if (name == "float32") return kernels::Factors::float32;
  if (name == "tf32") return kernels::Factors::tf32;
  if (name == "bfloat16") return kernels::Factors::bfloat16;
  return std::nullopt;
}

RoundedProducts::RoundedProducts(kernels::Factors to) : before_(std::exchange(factors_here, to)) {}
RoundedProducts::~RoundedProducts() { factors_here = before_; }
kernels::Factors factors_of_products() { return factors_here; }

}  // namespace sten
