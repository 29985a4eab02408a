// SPDX-License-Identifier: Apache-2.0
// Sums of sparse tensors, without dense intermediates.
#include <algorithm>

#include "libsten/compute/ops/common/output.h"
#include "libsten/compute/ops/common/register.h"
#include "libsten/core/layout/compressed.h"
#include "libsten/core/registry/route.h"
#include "libsten/core/sparsify/same_pattern.h"

namespace sten {
namespace {

// Whether two tensors store the same positions: all parts but `values` are equal.
bool have_same_positions(const Tensor& a, const Tensor& b) {
  if (&a.of_positions() == &b.of_positions()) return true;
  const Stored x = a.save(), y = b.save();
  if (x.layout != y.layout || x.shape != y.shape || x.parts.size() != y.parts.size()) return false;
  for (std::size_t i = 0; i < x.parts.size(); ++i) {
    const Part &p = x.parts[i], &q = y.parts[i];
    if (p.name != q.name || p.bytes.size() != q.bytes.size()) return false;
    if (p.name != "values" && p.bytes.data() != q.bytes.data() &&
        !std::equal(p.bytes.begin(), p.bytes.end(), q.bytes.begin()))
      return false;
  }
  return true;
}

void check_terms(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape())
    fail_unsupported("add: a is {} but b is {} (sparse tensors are not broadcast)",
                     to_string(a.shape()), to_string(b.shape()));
  if (a.dtype() != b.dtype())
    fail_usage("add: a is {} but b is {}", name_of(a.dtype()), name_of(b.dtype()));
}

template <class T>
void add_values(const Tensor& b, Values& sum) {
  const T* from = b.values()->as<T>().data();
  const Index n = sum.size();
  T* to = sum.mutate<T>().data();
  parallel_for(n, mask_grain, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) to[i] += from[i];
  });
}

// Operands of one layout with the same positions.
Outputs add_same(const Call& call) {
  call.attributes.check("add", {});
  const Tensor &a = call.in[0], &b = call.in[1];
  check_terms(a, b);
  if (call.out().tmp != a.spec() || !have_same_positions(a, b))
    fail_usage("add: same-pattern into {} needs equal stored positions of {} and {}",
               call.out().tmp.str(), a.spec().str(), b.spec().str());
  return with_real("add", a.dtype(), [&]<class T>(T) -> Outputs {
    return {Tensor::update(a, [&](Values& v) { add_values<T>(b, v); })};
  });
}

// The union of the positions of each row, filtered by the inline sparsifier.
template <class T, class AxisRows>
AxisRows merge(const AxisRows& a, const AxisRows& b, const OutFormat& format) {
  static const Name keep_all(KeepAll::name);
  const bool is_keep_all = format.inline_by.name() == keep_all;
  const T *va = a.values.template as<T>().data(), *vb = b.values.template as<T>().data();
  const MatrixView view = a.view();
  const Index lines = std::ssize(a.ptr) - 1;
  std::vector<std::int32_t> index;
  std::vector<T> values;
  index.reserve(std::max(a.index.size(), b.index.size()));
  values.reserve(index.capacity());
  AxisRows out;
  out.extents = a.extents;
  out.dims = a.dims;
  out.ptr = Array<std::int64_t>(lines + 1);
  std::int64_t* ptr = out.ptr.mutate();
  const auto put = [&](Index line, std::int32_t at, T v) {
    std::uint8_t keep = 1;
    if (!is_keep_all)
      format.inline_by.select_rows(&v, view.row_offset(line) + at * view.col_stride, 1, 1, &keep);
    if (!keep) return;
    index.push_back(at);
    values.push_back(v);
  };
  for (Index l = 0; l < lines; ++l) {
    Index i = a.ptr[l], j = b.ptr[l];
    const Index i1 = a.ptr[l + 1], j1 = b.ptr[l + 1];
    while (i < i1 || j < j1) {
      if (j == j1 || (i < i1 && a.index[i] < b.index[j])) {
        put(l, a.index[i], va[i]);
        ++i;
      } else if (i == i1 || b.index[j] < a.index[i]) {
        put(l, b.index[j], vb[j]);
        ++j;
      } else {
        put(l, a.index[i], va[i] + vb[j]);
        ++i, ++j;
      }
    }
    ptr[l + 1] = std::ssize(index);
  }
  out.index = Array<std::int32_t>::uninitialized(index.size());
  std::ranges::copy(index, out.index.mutate());
  out.values = Values::uninitialized(real_dtype<T>, std::ssize(values));
  std::ranges::copy(values, out.values.template mutate<T>().begin());
  return out;
}

template <class AxisRows>
Outputs add_rows(const Call& call) {
  call.attributes.check("add", {});
  const Tensor &a = call.in[0], &b = call.in[1];
  check_terms(a, b);
  const AxisRows &x = a.as<AxisRows>(), &y = b.as<AxisRows>();
  if (x.dims.row != y.dims.row || x.dims.col != y.dims.col)
    fail_usage("add: {} and {} have different rows", a.spec().str(), b.spec().str());
  return with_real("add", a.dtype(), [&]<class T>(T) -> Outputs {
    return {convert(merge<T>(x, y, call.out()), call.out().tmp)};
  });
}

// The gradient of a sum of sparse tensors passes through.
Outputs add_grad(const Call& call) {
  const Tensor& dy = call.in[0];
  Outputs grads(2);
  for (std::size_t i = 0; i < 2; ++i)
    if (call.wants(i)) {
      if (call.shapes[i] != dy.shape())
        fail_usage("add.grad: the {} gradient is {} but the operand was {}", dy.layout(),
                   to_string(dy.shape()), to_string(call.shapes[i]));
      grads[i] = dy;
    }
  return grads;
}

bool is_sparse(Name layout) { return layout != Name("dense"); }

}  // namespace

void add_sparse_add(Operators& all) {
  all.add({"add", {any::layout, any::layout}, {{SamePattern::name, any::layout}}}, add_same,
          [](const Signature& s) {
            return is_sparse(s.in[0]) && s.in[0] == s.in[1] && s.in[0] == s.out[0].tmp;
          });
  const auto to_sparse = [](const Signature& s) {
    return is_sparse(s.out[0].tmp) && writes_rows(s.out[0].tmp);
  };
  all.add({"add", {"csr", "csr"}, {{any::streaming, any::layout}}}, add_rows<Csr>, to_sparse);
  all.add({"add", {"csc", "csc"}, {{any::streaming, any::layout}}}, add_rows<Csc>, to_sparse);
  all.add({"add.grad", {any::layout}, {{"keep-all", any::layout}, {"keep-all", any::layout}}},
          add_grad, [](const Signature& s) {
            return is_sparse(s.in[0]) && std::ranges::all_of(s.out, [&](const OutSignature& o) {
                     return o.is_none() || o.tmp == s.in[0];
                   });
          });
}

}  // namespace sten
