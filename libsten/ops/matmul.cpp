// c[..., m, n] = a[..., m, k] * b[..., k, n]; a matrix that is one factor may be sparse.
#include "libsten/layout/masked.h"
#include "libsten/ops/gemm.h"
#include "libsten/ops/output.h"
#include "libsten/ops/product_output.h"
#include "libsten/ops/register.h"
#include "libsten/product/sampled_product.h"
#include "libsten/product/sparse_product.h"
#include "libsten/sparsify/same_pattern.h"

namespace sten {
namespace {

const Name same_pattern(SamePattern::name);

// Extents of one call, checked. Batch extents are broadcast as numpy does.
struct Matmul {
  Index m, k, n;
  Shape batch;                    // of c
  std::vector<Index> a_at, b_at;  // for each matrix of c the number of the one of a and of b

  Matmul(const Shape& a, const Shape& b) {
    if (a.size() < 2 || b.size() < 2)
      fail_usage("matmul: a is {} and b is {}; both have rows and columns", to_string(a),
                 to_string(b));
    m = a[a.size() - 2];
    k = a.back();
    n = b.back();
    const std::size_t rank = std::max(a.size(), b.size()) - 2;
    // Extent d of the batch, aligned at the last one.
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
  // Whether b is one matrix for all of a: then a is a taller matrix.
  bool is_tall() const {
    for (Index i = 0; i < count(); ++i)
      if (a_at[i] != i || b_at[i] != 0) return false;
    return true;
  }

 private:
  [[noreturn]] static void refuse(const Shape& a, const Shape& b) {
    fail_usage("matmul: a is {} and b is {}, which do not fit", to_string(a), to_string(b));
  }
};

template <class T>
const T* values_of(const Tensor& t) {
  return t.values()->as<T>().data();
}

void check_dtypes(std::string_view op, const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype())
    fail_usage("{}: a is {} and b is {}", op, name_of(a.dtype()), name_of(b.dtype()));
}

// f(i) for all matrices of a batch: large ones on all threads, many small ones each on one.
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

Outputs matmul(const Call& call) {
  call.attributes.check("matmul", {});
  const Tensor &a = call.in[0], &b = call.in[1];
  check_dtypes("matmul", a, b);
  const Matmul mm(a.shape(), b.shape());
  return with_real("matmul", a.dtype(), [&]<class T>(T) -> Outputs {
    const T *left = values_of<T>(a), *right = values_of<T>(b);
    if (mm.is_tall())
      return {write_tokens<T>(call.out(), mm.c(), mm.n, [&](Index row, Index count, T* to) {
        gemm(Turned::none, count, mm.n, mm.k, left + row * mm.k, right, to);
      })};
    return {write_matrices<T>(call.out(), mm.c(), [&](Index first, Index count, T* to) {
      for_each_matrix(count, mm.m * mm.n * mm.k, [&](Index i, int team) {
        gemm(Turned::none, mm.m, mm.n, mm.k, left + mm.a_at[first + i] * mm.m * mm.k,
             right + mm.b_at[first + i] * mm.k * mm.n, to + i * mm.m * mm.n, team);
      });
    })};
  });
}

// dA = dC B^T or dB = A^T dC, summed over the batch where one matrix served several of c.
template <class T>
Tensor factor_gradient(const OutFormat& format, const Matmul& mm, const Shape& shape, bool of_a,
                       const T* dc, const T* other) {
  const std::vector<Index>&at = of_a ? mm.a_at : mm.b_at, &from = of_a ? mm.b_at : mm.a_at;
  const Index size = of_a ? mm.m * mm.k : mm.k * mm.n;
  const auto product = [&](Index i, T* to, int team) {
    const T* g = dc + i * mm.m * mm.n;
    const T* o = other + from[i] * (of_a ? mm.k * mm.n : mm.m * mm.k);
    if (of_a)
      gemm(Turned::b, mm.m, mm.k, mm.n, g, o, to, team);
    else
      gemm(Turned::a, mm.k, mm.n, mm.m, o, g, to, team);
  };
  const bool is_one_to_one = [&] {
    for (Index i = 0; i < mm.count(); ++i)
      if (at[i] != i) return false;
    return true;
  }();
  if (mm.is_tall() && of_a)
    return write_tokens<T>(format, shape, mm.k, [&](Index row, Index count, T* to) {
      gemm(Turned::b, count, mm.k, mm.n, dc + row * mm.n, other, to);
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

Outputs matmul_grad(const Call& call) {
  const Tensor &dc = call.in[0], &a = call.in[1], &b = call.in[2];
  check_dtypes("matmul.grad", a, b);
  const Matmul mm(a.shape(), b.shape());
  return with_real("matmul.grad", a.dtype(), [&]<class T>(T) -> Outputs {
    Outputs grads(2);
    const T* g = values_of<T>(dc);
    const auto gradient = [&](std::size_t i, const Tensor& of, const Tensor& other) {
      const OutFormat& f = call.out(i);
      if (f.inline_by.name() != same_pattern)
        return factor_gradient(f, mm, of.shape(), i == 0, g, values_of<T>(other));
      return gradient_at<T>(
          "matmul.grad", of, f, []() -> Tensor { fail_usage("matmul.grad: no such factor"); },
          [&](T* to) {
            const Tensor dense =
                factor_gradient(OutFormat::dense(), mm, of.shape(), i == 0, g, values_of<T>(other));
            std::ranges::copy(dense.values()->as<T>(), to);
          });
    };
    if (call.wants(0)) grads[0] = gradient(0, a, b);
    if (call.wants(1)) grads[1] = gradient(1, b, a);
    return grads;
  });
}

// c[..., m, n] of which `product(cols, in[k, cols], to[m, cols])` makes some columns of one matrix
// from those of in[..., k, n].
template <class F>
Tensor write_by_columns(const OutFormat& format, const Shape& c, Index k, const float* in,
                        F&& product) {
  const Index m = c[c.size() - 2], n = c.back(), size = m * n;
  OutputRows<float> out(format, c);
  if (size_of(c) == 0) return out.take();
  const Index count = size_of(c) / size;
  if (float* to = out.in_place()) {
    for (Index i = 0; i < count; ++i) product(n, in + i * k * n, to + i * size);
    return out.take();
  }
  // Blocks of columns are rows to a streaming sparsifier; another one gets whole rows.
  const bool is_streaming = format.inline_by.kind() == Kind::streaming;
  if (!is_streaming && c.size() > 2)
    return write_matrices<float>(format, c, [&](Index first, Index some, float* to) {
      for (Index i = 0; i < some; ++i) product(n, in + (first + i) * k * n, to + i * size);
    });
  const Index at_once = is_streaming ? std::clamp<Index>(tile_elements / m, 1, n) : n;
  std::vector<float> some(k * at_once), tile(m * at_once);
  for (Index i = 0; i < count; ++i)
    for (Index col = 0; col < n; col += at_once) {
      const Index cols = std::min(at_once, n - col);
      for (Index p = 0; p < k; ++p)
        std::copy_n(in + (i * k + p) * n + col, cols, some.data() + p * cols);
      product(cols, some.data(), tile.data());
      if (c.size() == 2) {
        out.write(0, m, col, cols, tile.data());
        continue;
      }
      // Row r of matrix i is a part of a row of the output.
      const Index in_row = out.cols() / size;
      for (Index r = 0; r < m; ++r)
        out.write(i / in_row, 1, (i % in_row * m + r) * n + col, cols, tile.data() + r * cols);
    }
  return out.take();
}

// A sparse a [m,k] times b [..., k, n].
Outputs sparse_left(const Call& call) {
  call.attributes.check("matmul", {});
  const Tensor &a = call.in[0], &b = call.in[1];
  check_dtypes("matmul", a, b);
  check_factor(a);
  const Matmul mm(a.shape(), b.shape());
  return {write_by_columns(
      call.out(), mm.c(), mm.k, values_of<float>(b),
      [&](Index cols, const float* in, float* to) { sparse_gemm(a, cols, in, to); })};
}

Outputs sparse_left_grad(const Call& call) {
  const Tensor &dc = call.in[0], &a = call.in[1], &b = call.in[2];
  check_factor(a);
  const Matmul mm(a.shape(), b.shape());
  const float *g = values_of<float>(dc), *right = values_of<float>(b);
  Outputs grads(2);
  if (call.wants(0) && call.out(0).inline_by.name() == same_pattern) {
    check_same_pattern("matmul.grad", a, call.out(0));
    std::optional<Values> sum;
    for (Index i = 0; i < mm.count(); ++i) {
      const Tensor term = sampled_gemm(a, mm.n, g + i * mm.m * mm.n, right + i * mm.k * mm.n);
      if (!sum) {
        sum = *term.values();
        continue;
      }
      const auto from = term.values()->as<float>();
      const auto to = sum->mutate<float>();
      for (std::size_t j = 0; j < to.size(); ++j) to[j] += from[j];
    }
    grads[0] = a.with_values(sum ? *std::move(sum) : Values(DType::F32, a.values()->size()));
  } else if (call.wants(0)) {
    grads[0] = factor_gradient(call.out(0), mm, a.shape(), true, g, right);
  }
  if (call.wants(1))
    grads[1] = write_by_columns(
        call.out(1), b.shape(), mm.m, g,
        [&](Index cols, const float* in, float* to) { sparse_transposed_gemm(a, cols, in, to); });
  return grads;
}

// a [..., k] times a sparse b [k,n].
Outputs sparse_right(const Call& call) {
  call.attributes.check("matmul", {});
  const Tensor &a = call.in[0], &b = call.in[1];
  check_dtypes("matmul", a, b);
  check_factor(b);
  const Matmul mm(a.shape(), b.shape());
  const float* left = values_of<float>(a);
  return {write_tokens<float>(call.out(), mm.c(), mm.n, [&](Index row, Index count, float* to) {
    sparse_transposed_linear(b, count, left + row * mm.k, to);
  })};
}

Outputs sparse_right_grad(const Call& call) {
  const Tensor &dc = call.in[0], &a = call.in[1], &b = call.in[2];
  check_factor(b);
  const Matmul mm(a.shape(), b.shape());
  const Index rows = mm.count() * mm.m;
  const float *g = values_of<float>(dc), *left = values_of<float>(a);
  Outputs grads(2);
  if (call.wants(0))
    grads[0] = write_tokens<float>(
        call.out(0), a.shape(), mm.k,
        [&](Index row, Index count, float* to) { sparse_linear(b, count, g + row * mm.n, to); });
  if (call.wants(1) && call.out(1).inline_by.name() == same_pattern) {
    check_same_pattern("matmul.grad", b, call.out(1));
    grads[1] = sampled_linear(b, rows, left, g);
  } else if (call.wants(1)) {
    grads[1] = write_transposed_product(call.out(1), mm.k, mm.n, rows, left, g, b.shape());
  }
  return grads;
}

}  // namespace

void add_matmul(Operators& all) {
  add_streamed(all, "matmul", {"dense", "dense"}, 1, matmul);
  add_streamed(all, "matmul.grad", {"dense", "dense", "dense"}, 2, matmul_grad);
  add_streamed(all, "matmul", {"masked", "dense"}, 1, matmul);
  add_streamed(all, "matmul", {"dense", "masked"}, 1, matmul);
  add_product_grad(all, "matmul.grad", {"dense", "masked", "dense"}, 0, matmul_grad);
  add_product_grad(all, "matmul.grad", {"dense", "dense", "masked"}, 1, matmul_grad);
  for (const Name layout : sparse_product_layouts()) {
    if (layout == Name("masked")) continue;
    add_streamed(all, "matmul", {layout, "dense"}, 1, sparse_left);
    add_product_grad(all, "matmul.grad", {"dense", layout, "dense"}, 0, sparse_left_grad);
    add_streamed(all, "matmul", {"dense", layout}, 1, sparse_right);
    add_product_grad(all, "matmul.grad", {"dense", "dense", layout}, 1, sparse_right_grad);
  }
}

}  // namespace sten
