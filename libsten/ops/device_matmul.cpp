// c[m, n] = a[m, k] * b[k, n] on a device, of floats.
#include "libsten/ops/check.h"
#include "libsten/ops/matmul_extents.h"
#include "libsten/ops/register.h"
#include "libsten/product/device_product.h"

namespace sten {
namespace {

Outputs device_matmul(const Call& call) {
  call.attributes.check("matmul", {});
  const Tensor &a = call.in[0], &b = call.in[1];
  check_dtypes("matmul", "a", a.dtype(), "b", b.dtype());
  const Matmul mm(a.shape(), b.shape());
  if (mm.c().size() != 2) fail_unsupported("products on a device are of matrices, not of batches");
  Dense c{mm.c(), Values::uninitialized(a.dtype(), mm.m * mm.n, a.device())};
  device_product(a, mm.n, reinterpret_cast<const float*>(b.values()->bytes().data()),
                 reinterpret_cast<float*>(c.values.mutate_bytes()));
  return {std::move(c)};
}

}  // namespace

void add_device_matmul(Operators& all) {
  for (const char* layout : {"dense", "nmg", "csr"})
    all.add({Name("matmul"), {layout, Name("dense")}, {{}}, Device::cuda}, device_matmul);
}

}  // namespace sten
