// SPDX-License-Identifier: Apache-2.0
// c[..., m, n] = a[..., m, k] * b[..., k, n] with one sparse matrix.
#include "libsten/compute/ops/common/check.h"
#include "libsten/compute/ops/common/register.h"
#include "libsten/compute/ops/products/matmul_extents.h"
#include "libsten/compute/product/sampled_product.h"
#include "libsten/compute/product/sparse_product.h"
#include "libsten/core/sparsify/same_pattern.h"

namespace sten {
namespace {

const Name same_pattern(SamePattern::name);

// A sparse a [m,k] times b [..., k, n].
Outputs sparse_left(const Call& call) {
  const MatmulCall mm(call);
  check_factor(mm.a);
  return {write_by_columns(
      call.out(), mm.c(), mm.k, values_of<float>(mm.b),
      [&](Index cols, const float* in, float* to) { sparse_gemm(mm.a, cols, in, to); })};
}

Outputs sparse_left_grad(const Call& call) {
  const MatmulCall mm(call, 1);
  check_factor(mm.a);
  const float *g = values_of<float>(call.in[0]), *right = values_of<float>(mm.b);
  Outputs grads(2);
  if (call.wants(0) && call.out(0).inline_by.name() == same_pattern) {
    check_same_pattern("matmul.grad", mm.a, call.out(0));
    std::optional<Values> sum;
    for (Index i = 0; i < mm.count(); ++i) {
      const Tensor term = sampled_gemm(mm.a, mm.n, g + i * mm.m * mm.n, right + i * mm.k * mm.n);
      if (!sum) {
        sum = *term.values();
        continue;
      }
      const auto from = term.values()->as<float>();
      const auto to = sum->mutate<float>();
      for (std::size_t j = 0; j < to.size(); ++j) to[j] += from[j];
    }
    grads[0] = mm.a.with_values(sum ? *std::move(sum) : Values(DType::F32, mm.a.values()->size()));
  } else if (call.wants(0)) {
    grads[0] = factor_gradient(call.out(0), mm, mm.a.shape(), true, g, right);
  }
  if (call.wants(1))
    grads[1] = write_by_columns(call.out(1), mm.b.shape(), mm.m, g,
                                [&](Index cols, const float* in, float* to) {
                                  sparse_transposed_gemm(mm.a, cols, in, to);
                                });
  return grads;
}

// a [..., k] times a sparse b [k,n].
Outputs sparse_right(const Call& call) {
  const MatmulCall mm(call);
  check_factor(mm.b);
  const float* left = values_of<float>(mm.a);
  return {write_tokens<float>(call.out(), mm.c(), mm.n, [&](Index row, Index count, float* to) {
    sparse_transposed_linear(mm.b, count, left + row * mm.k, to);
  })};
}

Outputs sparse_right_grad(const Call& call) {
  const MatmulCall mm(call, 1);
  check_factor(mm.b);
  const Index rows = mm.count() * mm.m;
  const float *g = values_of<float>(call.in[0]), *left = values_of<float>(mm.a);
  Outputs grads(2);
  if (call.wants(0))
    grads[0] = write_tokens<float>(
        call.out(0), mm.a.shape(), mm.k,
        [&](Index row, Index count, float* to) { sparse_linear(mm.b, count, g + row * mm.n, to); });
  if (call.wants(1) && call.out(1).inline_by.name() == same_pattern) {
    check_same_pattern("matmul.grad", mm.b, call.out(1));
    grads[1] = sampled_linear(mm.b, rows, left, g);
  } else if (call.wants(1)) {
    grads[1] = write_transposed_product(call.out(1), mm.k, mm.n, rows, left, g, mm.b.shape());
  }
  return grads;
}

}  // namespace

void add_sparse_matmul(Operators& all) {
  for (const Name layout : sparse_product_layouts()) {
    if (layout == Name(Masked::name)) continue;  // like dense, in matmul.cpp
    add_streamed(all, "matmul", {layout, "dense"}, 1, sparse_left);
    add_product_grad(all, "matmul.grad", {"dense", layout, "dense"}, {0}, sparse_left_grad);
    add_streamed(all, "matmul", {"dense", layout}, 1, sparse_right);
    add_product_grad(all, "matmul.grad", {"dense", "dense", layout}, {1}, sparse_right_grad);
  }
}

}  // namespace sten
