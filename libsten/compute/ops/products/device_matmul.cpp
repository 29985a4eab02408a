// SPDX-License-Identifier: Apache-2.0
// c[..., m, n] = a[..., m, k] * b[..., k, n] of F32 on a device: batched dense products; or one
// factor in csr or nmg, a single matrix for all matrices of the other.
#include "libsten/compute/ops/common/register.h"
#include "libsten/compute/ops/products/device_product_output.h"
#include "libsten/compute/ops/products/matmul_extents.h"
#include "libsten/compute/product/device_linear.h"

namespace sten {
namespace {

using kernels::GemmOperands;

// Indices of the matrices of a product.
struct MatrixViews {
  const std::vector<Index>&a, &b, &c;

  // The end of the longest run from `first` on that one launch can compute: matrices have a
  // constant stride, and those of c are distinct.
  Index end_of_run(Index first) const {
    const Index count = std::ssize(c);
    Index end = first + 1;
    if (end == count || step(a, first) < 0 || step(b, first) < 0 || step(c, first) <= 0) return end;
    while (end < count && step(a, end - 1) == step(a, first) &&
           step(b, end - 1) == step(b, first) && step(c, end - 1) == step(c, first))
      ++end;
    return end;
  }
  static Index step(const std::vector<Index>& at, Index i) { return at[i + 1] - at[i]; }
};

// Runs all products of a batch, one launch per run; `one`: the operands of one product. Accumulates
// if requested, or if a matrix of c occurs again.
void multiply_batch(const GemmOperands& one, const MatrixViews& of, Index all, bool all_add) {
  const Index a_size = one.m * one.k, b_size = one.k * one.n, c_size = one.m * one.n;
  std::vector<bool> is_written(all, all_add);
  for (Index i = 0, end = 0; i < std::ssize(of.c); i = end) {
    const bool adds = is_written[of.c[i]];
    const Index last = of.end_of_run(i);
    for (end = i; end < last && is_written[of.c[end]] == adds; ++end) is_written[of.c[end]] = true;
    GemmOperands x = one;
    x.batch = end - i;
    x.beta = adds ? 1 : 0;
    x.a += of.a[i] * a_size, x.b += of.b[i] * b_size, x.c += of.c[i] * c_size;
    if (x.batch > 1) {
      x.a_step = MatrixViews::step(of.a, i) * a_size;
      x.b_step = MatrixViews::step(of.b, i) * b_size;
      x.c_step = MatrixViews::step(of.c, i) * c_size;
    }
    device_gemm(x);
  }
}

std::vector<Index> in_order(Index count) {
  std::vector<Index> all(count);
  std::iota(all.begin(), all.end(), Index{0});
  return all;
}

Outputs matmul_on_device(const Call& call) {
  const MatmulCall mm(call);
  const float *left = elements_on_device("matmul", mm.a),
              *right = elements_on_device("matmul", mm.b);
  Dense c = output_on_device(mm.c());
  GemmOperands x =
      gemm_operands(mm.m, mm.n, mm.k, {left, mm.k}, {right, mm.n}, {floats_of_output(c), mm.n});
  if (mm.is_tall()) {
    x.m *= mm.count();
    device_gemm(x);
    return {std::move(c)};
  }
  const std::vector<Index> offsets = in_order(mm.count());
  multiply_batch(x, {mm.a_at, mm.b_at, offsets}, mm.count(), false);
  return {std::move(c)};
}

// dA = dC B^T or dB = A^T dC, as factor_gradient() on the CPU.
void multiply_for_factor(const Matmul& mm, const Shape& shape, bool of_a, const float* dc,
                         const float* other, float* to, bool adds) {
  const Index elements = size_of(shape);
  if (elements == 0 || (adds && mm.count() == 0)) return;
  if (mm.count() == 0)
    return launch(&kernels::cuda::MemoryFunctions::clear, to,
                  static_cast<std::size_t>(elements) * sizeof(float));
  const Index rows = mm.is_tall() ? mm.count() * mm.m : mm.m;
  const float beta = adds ? 1.0F : 0.0F;
  const GemmOperands x =
      of_a ? gemm_operands(rows, mm.k, mm.n, {dc, mm.n}, {other, mm.n, true}, {to, mm.k, beta})
           : gemm_operands(mm.k, mm.n, rows, {other, mm.k, true}, {dc, mm.n}, {to, mm.n, beta});
  if (mm.is_tall()) return device_gemm(x);
  const Index all = elements / (of_a ? mm.m * mm.k : mm.k * mm.n);
  const std::vector<Index> offsets = in_order(mm.count());
  if (of_a)
    multiply_batch(x, {offsets, mm.b_at, mm.a_at}, all, adds);
  else
    multiply_batch(x, {mm.a_at, offsets, mm.b_at}, all, adds);
}

// The gradient of factor i.
Tensor factor_gradient_on_device(const Call& call, const MatmulCall& mm, std::size_t i,
                                 const float* dc, const float* other) {
  const Tensor& of = i == 0 ? mm.a : mm.b;
  return gradient_on_device("matmul.grad", call, i, of, [&](float* to, bool adds) {
    multiply_for_factor(mm, of.shape(), i == 0, dc, other, to, adds);
  });
}

Outputs matmul_grad_on_device(const Call& call) {
  const MatmulCall mm(call, 1);
  const float* g = elements_on_device("matmul.grad", call.in[0]);
  const float* left = elements_on_device("matmul.grad", mm.a);
  const float* right = elements_on_device("matmul.grad", mm.b);
  Outputs grads(2);
  if (call.wants(0)) grads[0] = factor_gradient_on_device(call, mm, 0, g, right);
  if (call.wants(1)) grads[1] = factor_gradient_on_device(call, mm, 1, g, left);
  return grads;
}

void check_matrix(const Tensor& x) {
  if (x.shape().size() != 2)
    fail_unsupported("products on a device support one sparse matrix, not a batch");
}

// A sparse a[m, k].
Outputs sparse_left_on_device(const Call& call) {
  const MatmulCall mm(call);
  check_matrix(mm.a);
  const float* right = elements_on_device("matmul", mm.b);
  Dense c = output_on_device(mm.c());
  float* to = floats_of_output(c);
  for (Index i = 0; i < mm.count(); ++i)
    device_sparse_gemm(mm.a, mm.n, right + i * mm.k * mm.n, to + i * mm.m * mm.n);
  return {std::move(c)};
}

Outputs sparse_left_grad_on_device(const Call& call) {
  const MatmulCall mm(call, 1);
  check_matrix(mm.a);
  const float* g = elements_on_device("matmul.grad", call.in[0]);
  const float* right = elements_on_device("matmul.grad", mm.b);
  Outputs grads(2);
  // First, so that Unsupported leaves the sum of the other gradient unchanged.
  if (call.wants(1)) {
    Dense db = output_on_device(mm.b.shape());
    float* to = floats_of_output(db);
    for (Index i = 0; i < mm.count(); ++i)
      device_transposed_gemm(mm.a, mm.n, g + i * mm.m * mm.n, to + i * mm.k * mm.n);
    grads[1] = std::move(db);
  }
  if (call.wants(0) && call.out(0).tmp.is(Dense::name)) {
    grads[0] = factor_gradient_on_device(call, mm, 0, g, right);
  } else if (call.wants(0)) {
    check_same_pattern("matmul.grad", mm.a, call.out(0));
    grads[0] = device_sampled_gemm(mm.a, mm.count(), mm.n, g, right);
  }
  return grads;
}

// A sparse b[k, n]; rows of a are tokens.
Outputs sparse_right_on_device(const Call& call) {
  const MatmulCall mm(call);
  check_matrix(mm.b);
  const float* left = elements_on_device("matmul", mm.a);
  Dense c = output_on_device(mm.c());
  device_transposed_linear(mm.b, mm.count() * mm.m, left, floats_of_output(c));
  return {std::move(c)};
}

Outputs sparse_right_grad_on_device(const Call& call) {
  const MatmulCall mm(call, 1);
  check_matrix(mm.b);
  const Index rows = mm.count() * mm.m;
  const float* g = elements_on_device("matmul.grad", call.in[0]);
  const float* left = elements_on_device("matmul.grad", mm.a);
  Outputs grads(2);
  if (call.wants(0)) {
    Dense da = output_on_device(mm.a.shape());
    device_linear(mm.b, rows, g, nullptr, floats_of_output(da));
    grads[0] = std::move(da);
  }
  if (call.wants(1) && call.out(1).tmp.is(Dense::name)) {
    grads[1] = factor_gradient_on_device(call, mm, 1, g, left);
  } else if (call.wants(1)) {
    check_same_pattern("matmul.grad", mm.b, call.out(1));
    grads[1] = device_sampled_linear(mm.b, rows, left, g);
  }
  return grads;
}

}  // namespace

void add_device_matmul(Operators& all) {
  const Name dense("dense"), masked("masked");
  for (const auto& [a, b] : {std::pair(dense, dense), {masked, dense}, {dense, masked}}) {
    add_device_operator(all, "matmul", {a, b}, matmul_on_device);
    add_device_product_grad(all, "matmul.grad", {dense, a, b}, {0, 1}, matmul_grad_on_device);
  }
  for (const Name sparse : device_product_layouts) {
    if (sparse == dense || sparse == masked) continue;
    add_device_operator(all, "matmul", {sparse, dense}, sparse_left_on_device);
    add_device_product_grad(all, "matmul.grad", {dense, sparse, dense}, {0},
                            sparse_left_grad_on_device);
    add_device_operator(all, "matmul", {dense, sparse}, sparse_right_on_device);
    add_device_product_grad(all, "matmul.grad", {dense, dense, sparse}, {1},
                            sparse_right_grad_on_device);
  }
}

}  // namespace sten
