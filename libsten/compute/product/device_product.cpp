#include "libsten/compute/product/device_product.h"

#include "libsten/compute/product/device_linear.h"
#include "libsten/core/base/cuda.h"
#include "libsten/core/layout/compressed.h"
#include "libsten/core/layout/nmg.h"

namespace sten {
namespace {

using kernels::PreparedProduct;
using kernels::ProductFunctions;
using kernels::ProductOperands;
using kernels::Stream;

const float* floats_of(const Values& v) { return reinterpret_cast<const float*>(v.bytes().data()); }

void dense_product(const Dense& a, const ProductOperands& o, const ProductFunctions& functions,
                   Stream stream) {
  if (!functions.dense_library()) fail_unsupported("cuBLAS not found");
  functions.dense(floats_of(a.values), o.cols, o, stream);
}

// The library's prepared data are made at the first product of a tensor and cached with it.
void csr_product(const Tensor& tensor, const ProductOperands& o, const ProductFunctions& functions,
                 Stream stream) {
  const Csr& a = tensor.as<Csr>();
  if (a.dims.given())
    fail_unsupported("csr products on a device support matrices without dims= only");
  const auto& cached = *tensor.derived().get<std::shared_ptr<PreparedProduct>>([&] {
    return std::shared_ptr<PreparedProduct>(functions.csr(o.rows, o.cols, a.values.size(),
                                                          a.ptr.data(), a.index.data(),
                                                          floats_of(a.values), stream));
  });
  if (!cached) fail_unsupported("cuSPARSE does not support this matrix");
  cached->run(o, stream);
}

}  // namespace

void device_product(const Tensor& a, Index n, const float* b, float* c) {
  const Shape shape = a.shape();
  if (a.dtype() != DType::F32)
    fail_unsupported("products on a device support F32, got {}", name_of(a.dtype()));
  if (shape.size() != 2) fail_unsupported("products on a device support matrices, not batches");
  const ProductOperands o{shape[0], shape[1], n, b, n, c, n};
  const bool has_lists =
      (a.is<Nmg>() && a.as<Nmg>().axis == 1) || (a.is<Csr>() && !cuda().products.csr_library());
  if (has_lists) return device_sparse_gemm(a, n, b, c);
  if (a.is<Nmg>() && device_algorithm(a, n, DeviceUse::linear, kernels::Factors::float32) ==
                         DeviceAlgorithm::dense) {
    const Dense all = a.to_dense();
    return on_cuda([&](const kernels::cuda::Backend& cuda, Stream stream) {
      dense_product(all, o, cuda.products, stream);
    });
  }
  if (a.is<Nmg>()) return device_nmg_product(a.as<Nmg>(), o);
  on_cuda([&](const kernels::cuda::Backend& cuda, Stream stream) {
    if (a.is<Dense>())
      dense_product(a.as<Dense>(), o, cuda.products, stream);
    else if (a.is<Csr>())
      csr_product(a, o, cuda.products, stream);
    else
      fail_unsupported("no product found for {} on a device", a.layout());
  });
}

}  // namespace sten
