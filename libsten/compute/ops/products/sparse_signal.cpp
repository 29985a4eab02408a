// SPDX-License-Identifier: Apache-2.0
// Gradients of operators for a sparse dy or sparse saved tensors.

#include "libsten/compute/ops/common/check.h"
#include "libsten/compute/ops/common/register.h"
#include "libsten/compute/ops/products/product_output.h"
#include "libsten/compute/product/csr_product.h"
#include "libsten/compute/product/sparse_product.h"
#include "libsten/core/layout/compressed.h"
#include "libsten/core/registry/route.h"

namespace sten {
namespace {

// Gradients of c[m, n] = a[m, k] b[k, n] for a sparse dc [m, n], which is used once and so not
// packed.
Outputs signal_matmul_grad(const Call& call) {
  const Tensor &dc = call.in[0], &a = call.in[1], &b = call.in[2];
  check_factor(dc);
  const Shape left = a.shape(), right = b.shape();
  if (left.size() != 2 || right.size() != 2)
    fail_unsupported("matmul.grad: batches of matrices do not support a sparse gradient");
  const Index m = left[0], k = left[1], n = right[1];
  if (dc.shape() != Shape{m, n} || right[0] != k)
    fail_usage("matmul.grad: the gradient {} does not fit a {} and b {}", to_string(dc.shape()),
               to_string(left), to_string(right));
  check_dtypes("matmul.grad", "a", a.dtype(), "the gradient", dc.dtype());
  const Tensor rows = convert(dc, Spec(Csr::name));
  const CsrEntries entries = tokens_of(rows)->with(rows);
  Outputs grads(2);
  // da = dc b^T.
  if (call.wants(0)) {
    Dense da = unwritten<float>(left);
    csr_product(entries, RowsOperand::transposed(values_of<float>(b), n), 0, k, nullptr,
                da.values.mutate<float>().data());
    grads[0] = std::move(da);
  }
  // db = (dc^T a)^T.
  if (call.wants(1)) {
    Dense db = unwritten<float>(right);
    transposed_csr_product(TransposedEntries(entries).entries(),
                           RowsOperand::of(values_of<float>(a), k), 0, k,
                           db.values.mutate<float>().data());
    grads[1] = std::move(db);
  }
  return grads;
}

// Calls f(entry of a, offset in dense, entry of b or -1) for each entry of a; both have the same
// shape and dims.
template <class F>
void each_entry(const Csr& a, const Csr* b, F&& f) {
  const MatrixView view = a.view();
  parallel_for(std::ssize(a.ptr) - 1, 64, [&](Index begin, Index end) {
    for (Index l = begin; l < end; ++l) {
      Index j = b ? b->ptr[l] : 0;
      for (Index e = a.ptr[l]; e < a.ptr[l + 1]; ++e) {
        Index found = -1;
        if (b) {
          while (j < b->ptr[l + 1] && b->index[j] < a.index[e]) ++j;
          if (j < b->ptr[l + 1] && b->index[j] == a.index[e]) found = j;
        }
        f(e, view.row_offset(l) + a.index[e] * view.col_stride, found);
      }
    }
  });
}

// From y = relu(x), saved as csr: dx is dy where y is nonzero, at y's positions or dense. dy is
// dense or csr.
Outputs relu_grad(const Call& call) {
  const Tensor &dy = call.in[0], &y = call.in[1];
  if (!call.wants(0)) return {std::nullopt};
  const Csr& kept = y.as<Csr>();
  if (dy.shape() != y.shape())
    fail_usage("relu.grad: the gradient is {} but the output is {}", to_string(dy.shape()),
               to_string(y.shape()));
  check_dtypes("relu.grad", "the gradient", dy.dtype(), "the output", y.dtype());
  const Csr* sparse = dy.is<Csr>() ? &dy.as<Csr>() : nullptr;
  if (kept.dims.given() || (sparse && sparse->dims.given()))
    fail_unsupported("relu.grad: not implemented for {}", y.spec().str());
  return with_real("relu.grad", dy.dtype(), [&]<class T>(T) -> Outputs {
    const T *from = values_of<T>(dy), *with = values_of<T>(y);
    const bool is_dense = call.out().tmp.is(Dense::name);
    Values v(dy.dtype(), is_dense ? size_of(y.shape()) : y.values()->size());
    T* to = v.mutate<T>().data();
    each_entry(kept, sparse, [&](Index e, Index at, Index of_dy) {
      const T g = !sparse ? from[at] : of_dy >= 0 ? from[of_dy] : T{0};
      to[is_dense ? at : e] = with[e] <= 0 ? T{0} : g;
    });
    if (is_dense) return {Dense{dy.shape(), std::move(v)}};
    return {y.with_values(std::move(v))};
  });
}

}  // namespace

void add_sparse_signals(Operators& all) {
  for (const Name layout : sparse_product_layouts()) {
    all.add({"matmul.grad", {layout, "dense", "dense"}, {{}, {}}}, signal_matmul_grad);
  }
  for (const Name dy : {Name("dense"), Name("csr")}) {
    all.add({"relu.grad", {dy, "csr"}, {{}}}, relu_grad);
    all.add({"relu.grad", {dy, "csr"}, {{"keep-all", "csr"}}}, relu_grad);
  }
}

}  // namespace sten
