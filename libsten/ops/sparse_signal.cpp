// What comes back where a gradient on its way, or what an operator keeps, is sparse.
#include <algorithm>

#include "libsten/layout/compressed.h"
#include "libsten/ops/check.h"
#include "libsten/ops/product_output.h"
#include "libsten/ops/register.h"
#include "libsten/product/sparse_product.h"
#include "libsten/sparsify/same_pattern.h"

namespace sten {
namespace {

const Name same_pattern(SamePattern::name);

// Of y[N, M] = x[N, K] w[M, K]^T + b[M] from a sparse dy [N, M], w being dense or masked.
Outputs linear_grad(const Call& call) {
  const Tensor &dy = call.in[0], &x = call.in[1], &w = call.in[2];
  check_factor(dy);
  const Shape rows = x.shape(), weight = w.shape();
  if (rows.size() != 2 || weight.size() != 2 || dy.shape() != Shape{rows[0], weight[0]} ||
      rows[1] != weight[1])
    fail_usage("linear.grad: a gradient of {} does not fit x {} and w {}", to_string(dy.shape()),
               to_string(rows), to_string(weight));
  check_dtypes("linear.grad", "x", x.dtype(), "the gradient", dy.dtype());
  const Index n = rows[0], m = weight[0];
  const float* from = values_of<float>(x);
  const auto back = [&](Index cols, const float* in, float* to) {
    sparse_transposed_gemm(dy, cols, in, to);
  };
  Outputs grads(call.formats.size());
  if (call.wants(0))
    grads[0] = write_by_columns(
        call.out(0), rows, m, values_of<float>(w),
        [&](Index cols, const float* in, float* to) { sparse_gemm(dy, cols, in, to); });
  if (call.wants(1) && call.out(1).inline_by.name() == same_pattern)
    grads[1] = gradient_at<float>(
        "linear.grad", w, call.out(1), [&]() -> Tensor { refuse_double(w); },
        [&](float* to) { back(rows[1], from, to); });
  else if (call.wants(1))
    grads[1] = write_by_columns(call.out(1), weight, n, from, back);
  if (grads.size() > 2 && call.wants(2)) {
    const std::vector<float> ones(n, 1.0f);
    std::vector<float> sums(m);
    back(1, ones.data(), sums.data());
    grads[2] = write_each<float>(call.out(2), {m}, [&](Index i) { return sums[i]; });
  }
  return grads;
}

// Of c[m, n] = a[m, k] b[k, n] from a sparse dc [m, n].
Outputs matmul_grad(const Call& call) {
  const Tensor &dc = call.in[0], &a = call.in[1], &b = call.in[2];
  check_factor(dc);
  const Shape left = a.shape(), right = b.shape();
  if (left.size() != 2 || right.size() != 2)
    fail_unsupported("matmul.grad: a sparse gradient of stacks of matrices");
  const Index m = left[0], k = left[1], n = right[1];
  if (dc.shape() != Shape{m, n} || right[0] != k)
    fail_usage("matmul.grad: a gradient of {} does not fit a {} and b {}", to_string(dc.shape()),
               to_string(left), to_string(right));
  check_dtypes("matmul.grad", "a", a.dtype(), "the gradient", dc.dtype());
  Outputs grads(2);
  // da = dc b^T: rows of b are what features of a token are elsewhere.
  if (call.wants(0)) {
    Dense da = unwritten<float>(left);
    sparse_product(dc, {Form::tokens, n, k, values_of<float>(b)},
                   {Form::features, m, k, da.values.mutate<float>().data()});
    grads[0] = std::move(da);
  }
  // db = a^T dc = (dc^T a)^T.
  if (call.wants(1)) {
    Dense db = unwritten<float>(right);
    sparse_transposed_product(dc, {Form::features, m, k, values_of<float>(a)},
                              {Form::tokens, n, k, db.values.mutate<float>().data()});
    grads[1] = std::move(db);
  }
  return grads;
}

// From y = relu(x) that was kept as csr: dx is dy where y is above 0, in y's positions or dense.
Outputs relu_grad(const Call& call) {
  const Tensor &dy = call.in[0], &y = call.in[1];
  if (!call.wants(0)) return {std::nullopt};
  const Csr& kept = y.as<Csr>();
  if (dy.shape() != y.shape())
    fail_usage("relu.grad: the gradient is {} but the output was {}", to_string(dy.shape()),
               to_string(y.shape()));
  check_dtypes("relu.grad", "the gradient", dy.dtype(), "the output", y.dtype());
  return with_real("relu.grad", dy.dtype(), [&]<class T>(T) -> Outputs {
    const MatrixView view = kept.view();
    const T *from = values_of<T>(dy), *with = values_of<T>(y);
    const bool is_dense = call.out().tmp.is(Dense::name);
    Values v(dy.dtype(), is_dense ? dy.values()->size() : y.values()->size());
    T* to = v.mutate<T>().data();
    parallel_for(std::ssize(kept.ptr) - 1, 64, [&](Index begin, Index end) {
      for (Index l = begin; l < end; ++l)
        for (Index e = kept.ptr[l]; e < kept.ptr[l + 1]; ++e) {
          const Index at = view.line_offset(l) + kept.index[e] * view.col_stride;
          to[is_dense ? at : e] = with[e] > 0 ? from[at] : T{0};
        }
    });
    if (is_dense) return {Dense{dy.shape(), std::move(v)}};
    return {y.with_values(std::move(v))};
  });
}

}  // namespace

void add_sparse_signals(Operators& all) {
  for (const Name layout : sparse_product_layouts()) {
    for (const Name weight : {Name("dense"), Name("masked")}) {
      add_product_grad(all, "linear.grad", {layout, "dense", weight}, 1, linear_grad);
      add_product_grad(all, "linear.grad", {layout, "dense", weight, "dense"}, 1, linear_grad);
    }
    all.add({"matmul.grad", {layout, "dense", "dense"}, {{}, {}}}, matmul_grad);
  }
  all.add({"relu.grad", {"dense", "csr"}, {{}}}, relu_grad);
  all.add({"relu.grad", {"dense", "csr"}, {{"keep-all", "csr"}}}, relu_grad);
}

}  // namespace sten
