// SPDX-License-Identifier: Apache-2.0
// c[..., m, n] = a[..., m, k] * b[..., k, n] of dense and masked tensors.
#include "libsten/compute/ops/common/check.h"
#include "libsten/compute/ops/common/register.h"
#include "libsten/compute/ops/products/matmul_extents.h"

namespace sten {
namespace {

Outputs matmul_forward(const Call& call) {
  const MatmulCall mm(call);
  return with_real("matmul", mm.a.dtype(), [&]<class T>(T) -> Outputs {
    const T *left = values_of<T>(mm.a), *right = values_of<T>(mm.b);
    if (mm.is_tall())
      return {write_tokens<T>(call.out(), mm.c(), mm.n, [&](Index row, Index count, T* to) {
        gemm(Transpose::none, count, mm.n, mm.k, left + row * mm.k, right, to);
      })};
    return {write_matrices<T>(call.out(), mm.c(), [&](Index first, Index count, T* to) {
      for_each_matrix(count, mm.m * mm.n * mm.k, [&](Index i, int team) {
        gemm(Transpose::none, mm.m, mm.n, mm.k, left + mm.a_at[first + i] * mm.m * mm.k,
             right + mm.b_at[first + i] * mm.k * mm.n, to + i * mm.m * mm.n, team);
      });
    })};
  });
}

Outputs matmul_grad(const Call& call) {
  const MatmulCall mm(call, 1);
  return with_real("matmul.grad", mm.a.dtype(), [&]<class T>(T) -> Outputs {
    Outputs grads(2);
    const T* g = values_of<T>(call.in[0]);
    const auto gradient = [&](std::size_t i, const Tensor& of, const Tensor& other) {
      const OutFormat& f = call.out(i);
      if (!f.is_same_pattern())
        return factor_gradient(f, mm, of.shape(), i == 0, g, values_of<T>(other));
      return gradient_at<T>(
          "matmul.grad", of, f, []() -> Tensor { fail_usage("matmul.grad: unknown factor"); },
          [&](T* to) {
            const Tensor dense =
                factor_gradient(OutFormat::dense(), mm, of.shape(), i == 0, g, values_of<T>(other));
            std::ranges::copy(dense.values()->as<T>(), to);
          });
    };
    if (call.wants(0)) grads[0] = gradient(0, mm.a, mm.b);
    if (call.wants(1)) grads[1] = gradient(1, mm.b, mm.a);
    return grads;
  });
}

}  // namespace

void add_matmul(Operators& all) {
  add_streamed(all, "matmul", {"dense", "dense"}, 1, matmul_forward);
  add_streamed(all, "matmul.grad", {"dense", "dense", "dense"}, 2, matmul_grad);
  add_streamed(all, "matmul", {"masked", "dense"}, 1, matmul_forward);
  add_streamed(all, "matmul", {"dense", "masked"}, 1, matmul_forward);
  add_product_grad(all, "matmul.grad", {"dense", "masked", "dense"}, {0}, matmul_grad);
  add_product_grad(all, "matmul.grad", {"dense", "dense", "masked"}, {1}, matmul_grad);
}

}  // namespace sten
