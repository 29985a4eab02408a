// SPDX-License-Identifier: Apache-2.0
// Checked calls of matmul, for all implementations.
#pragma once
#include <algorithm>
#include <vector>

#include "libsten/compute/ops/common/check.h"
#include "libsten/compute/ops/products/product_output.h"

namespace sten {

// Extents of a call. Batch extents are broadcast as in NumPy.
struct Matmul {
  Index m, k, n;
  Shape batch;                    // of c
  std::vector<Index> a_at, b_at;  // index of the matrix of a and of b for each matrix of c

  Matmul(const Shape& a, const Shape& b) {
    if (a.size() < 2 || b.size() < 2)
      fail_usage("matmul: a and b must have 2 or more axes, got {} and {}", to_string(a),
                 to_string(b));
    m = a[a.size() - 2];
    k = a.back();
    n = b.back();
    const std::size_t rank = std::max(a.size(), b.size()) - 2;
    // Extent d of the batch, aligned at the last axis.
    const auto extent = [&](const Shape& s, std::size_t d) {
      return d + s.size() < rank + 2 ? 1 : s[d + s.size() - rank - 2];
    };
    for (std::size_t d = 0; d < rank; ++d) {
      const Index p = extent(a, d), q = extent(b, d);
      if (p != q && p != 1 && q != 1) refuse(a, b);
      batch.push_back(p == 1 ? q : p);
    }
    if (k != b[b.size() - 2]) refuse(a, b);
    const Index count = size_of(batch);
    a_at.resize(count);
    b_at.resize(count);
    for (Index i = 0; i < count; ++i) {
      Index rest = i, a_stride = 1, b_stride = 1;
      for (std::size_t d = rank; d-- > 0;) {
        const Index at = rest % batch[d], p = extent(a, d), q = extent(b, d);
        rest /= batch[d];
        a_at[i] += p == 1 ? 0 : at * a_stride;
        b_at[i] += q == 1 ? 0 : at * b_stride;
        a_stride *= p;
        b_stride *= q;
      }
    }
  }
  Index count() const { return std::ssize(a_at); }
  Shape c() const {
    Shape s = batch;
    s.push_back(m);
    s.push_back(n);
    return s;
  }
  // Whether b is one matrix for all of a, so that a is one tall matrix.
  bool is_tall() const {
    for (Index i = 0; i < count(); ++i)
      if (a_at[i] != i || b_at[i] != 0) return false;
    return true;
  }

 private:
  [[noreturn]] static void refuse(const Shape& a, const Shape& b) {
    fail_usage("matmul: a is {} but b is {}, which cannot be multiplied", to_string(a),
               to_string(b));
  }
};

// The factors of matmul; or with first = 1 those of its gradient, whose input 0 is the gradient of
// c. Error (usage) unless attributes, dtypes and extents fit.
struct MatmulCall : Matmul {
  const Tensor &a, &b;

  explicit MatmulCall(const Call& call, std::size_t first = 0)
      : Matmul(checked(call, first).shape(), call.in[first + 1].shape()),
        a(call.in[first]),
        b(call.in[first + 1]) {
    if (first == 0) return;
    check_gradient("matmul.grad", call.in[0].as<Dense>(), c());
    check_dtypes("matmul.grad", "a", a.dtype(), "the gradient", call.in[0].dtype());
  }

 private:
  static const Tensor& checked(const Call& call, std::size_t first) {
    const char* op = first ? "matmul.grad" : "matmul";
    call.attributes.check(op, {});
    check_dtypes(op, "a", call.in[first].dtype(), "b", call.in[first + 1].dtype());
    return call.in[first];
  }
};

// Calls f(i) for all matrices of a batch: large ones on all threads, many small ones on a thread
// each.
template <class F>
void for_each_matrix(Index count, Index flops, F&& f) {
  constexpr Index small = Index{1} << 22;
  if (count < threads() || flops > small) {
    for (Index i = 0; i < count; ++i) f(i, threads());
    return;
  }
  parallel_for(count, 1, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) f(i, 1);
  });
}

// dA = dC B^T or dB = A^T dC, summed over the batch if the factor was broadcast.
template <class T>
Tensor factor_gradient(const OutFormat& format, const Matmul& mm, const Shape& shape, bool of_a,
                       const T* dc, const T* other) {
  if (mm.count() == 0) return write_each<T>(format, shape, [](Index) { return T{0}; });
  const std::vector<Index>&at = of_a ? mm.a_at : mm.b_at, &from = of_a ? mm.b_at : mm.a_at;
  const Index size = of_a ? mm.m * mm.k : mm.k * mm.n;
  const auto product = [&](Index i, T* to, int team) {
    const T* g = dc + i * mm.m * mm.n;
    const T* o = other + from[i] * (of_a ? mm.k * mm.n : mm.m * mm.k);
    if (of_a)
      gemm(Transpose::b, mm.m, mm.k, mm.n, g, o, to, team);
    else
      gemm(Transpose::a, mm.k, mm.n, mm.m, o, g, to, team);
  };
  const bool is_one_to_one = [&] {
    for (Index i = 0; i < mm.count(); ++i)
      if (at[i] != i) return false;
    return true;
  }();
  if (mm.is_tall() && of_a)
    return write_tokens<T>(format, shape, mm.k, [&](Index row, Index count, T* to) {
      gemm(Transpose::b, count, mm.k, mm.n, dc + row * mm.n, other, to);
    });
  if (mm.is_tall())
    return write_transposed_product(format, mm.k, mm.n, mm.count() * mm.m, other, dc, shape);
  return write_matrices<T>(format, shape, [&](Index first, Index count, T* to) {
    if (is_one_to_one) {
      for_each_matrix(count, mm.m * mm.n * mm.k,
                      [&](Index i, int team) { product(first + i, to + i * size, team); });
      return;
    }
    std::fill_n(to, count * size, T{0});
    std::vector<T> term(size);
    for (Index i = 0; i < mm.count(); ++i) {
      if (at[i] < first || at[i] >= first + count) continue;
      product(i, term.data(), threads());
      T* sum = to + (at[i] - first) * size;
      for (Index j = 0; j < size; ++j) sum[j] += term[j];
    }
  });
}

}  // namespace sten
