// c[m, n] = a[m, k] * b[k, n] on a device, of floats.
#include "libsten/base/cuda.h"
#include "libsten/layout/compressed.h"
#include "libsten/layout/nmg.h"
#include "libsten/layout/nmg_patterns.h"
#include "libsten/ops/check.h"
#include "libsten/ops/matmul_extents.h"
#include "libsten/ops/register.h"

namespace sten {
namespace {

using kernels::PreparedProduct;
using kernels::ProductOperands;
using kernels::Stream;
using kernels::cuda::Backend;

// product(operands, backend, stream) for a call whose shapes, dtypes and layouts are right.
template <class F>
Outputs with_operands(const Call& call, F&& product) {
  call.attributes.check("matmul", {});
  const Tensor &a = call.in[0], &b = call.in[1];
  check_dtypes("matmul", "a", a.dtype(), "b", b.dtype());
  if (a.dtype() != DType::F32)
    fail_unsupported("products on a device are of F32, not of {}", name_of(a.dtype()));
  if (a.shape().size() != 2 || b.shape().size() != 2)
    fail_unsupported("products on a device are of matrices, not of batches");
  const Matmul mm(a.shape(), b.shape());
  Dense c{mm.c(), Values::uninitialized(DType::F32, mm.m * mm.n, a.device())};
  const ProductOperands operands{mm.m, mm.k,
                                 mm.n, reinterpret_cast<const float*>(b.values()->bytes().data()),
                                 mm.n, reinterpret_cast<float*>(c.values.mutate_bytes()),
                                 mm.n};
  on_cuda([&](const Backend& cuda, Stream stream) { product(operands, cuda, stream); });
  return {std::move(c)};
}

const float* floats_of(const Values& v) { return reinterpret_cast<const float*>(v.bytes().data()); }

Outputs dense_matmul(const Call& call) {
  return with_operands(call, [&](const ProductOperands& o, const Backend& cuda, Stream stream) {
    if (!cuda.products.dense_library()) fail_unsupported("there is no cuBLAS");
    cuda.products.dense(floats_of(*call.in[0].values()), o.cols, o, stream);
  });
}

Outputs nmg_matmul(const Call& call) {
  const Nmg& a = call.in[0].as<Nmg>();
  if (a.axis != 0 || a.dims.given())
    fail_unsupported("products of n:m:g on a device are for axis 0 of a matrix");
  return with_operands(call, [&](const ProductOperands& o, const Backend& cuda, Stream stream) {
    const NmgPatternsThere patterns(a.n, a.m, call.in[0].device());
    cuda.products.nmg(patterns.format(a.g), floats_of(a.values), a.index.bytes().data(), o, stream);
  });
}

// Made at the first product with a tensor, and kept with it.
template <class Make>
PreparedProduct& prepared(const Tensor& a, Make&& make) {
  const auto& kept = *a.derived().get<std::shared_ptr<PreparedProduct>>(
      [&] { return std::shared_ptr<PreparedProduct>(make()); });
  if (!kept) fail_unsupported("the device's library does not take this matrix");
  return *kept;
}

Outputs csr_matmul(const Call& call) {
  const Csr& a = call.in[0].as<Csr>();
  if (a.dims.given()) fail_unsupported("products of csr on a device are of whole matrices");
  return with_operands(call, [&](const ProductOperands& o, const Backend& cuda, Stream stream) {
    if (!cuda.products.csr_library()) fail_unsupported("there is no cuSPARSE");
    prepared(call.in[0], [&] {
      return cuda.products.csr(o.rows, o.cols, a.values.size(), a.ptr.data(), a.index.data(),
                               floats_of(a.values), stream);
    }).run(o, stream);
  });
}

}  // namespace

void add_device_matmul(Operators& all) {
  const auto add = [&](Name layout, auto implementation) {
    Signature s{Name("matmul"), {layout, Name("dense")}, {{}}, Device::cuda};
    all.add(std::move(s), implementation);
  };
  add(Name("dense"), dense_matmul);
  add(Name("nmg"), nmg_matmul);
  add(Name("csr"), csr_matmul);
}

}  // namespace sten
