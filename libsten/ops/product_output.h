// Outputs of products, in the formats that their gradients and activations have.
#pragma once
#include <numeric>
#include <string>
#include <vector>

#include "libsten/layout/masked.h"
#include "libsten/ops/gemm.h"
#include "libsten/ops/output.h"

namespace sten {

// Tiles of outputs that are not dense: as many elements, or one row. Tokens of a product are an
// eighth of all if that is more, since the other factor is read for each tile.
inline constexpr Index tile_elements = Index{1} << 16, most_tile_elements = Index{1} << 21;

// An output of that shape, `width` values for each token. `fill(token, count, T* to)`
// computes some, on threads().
template <class T, class F>
Tensor write_tokens(const OutFormat& format, Shape shape, Index width, F&& fill) {
  Index tokens = 1;
  for (std::size_t i = 0; i + 1 < shape.size(); ++i) tokens *= shape[i];
  OutputRows<T> out(format, std::move(shape));
  if (tokens == 0 || width == 0) return out.take();
  if (T* to = out.in_place()) {
    fill(Index{0}, tokens, to);
    return out.take();
  }
  const Index in_row = out.cols() / width;  // tokens
  const Index step = dense_library().row_step, unit = step / std::gcd(step, in_row);
  const Index min_rows = std::max<Index>(1, tile_elements / out.cols());
  const Index most =
      std::max<Index>(min_rows, std::min(out.rows() / 8, most_tile_elements / out.cols()));
  const Index at_once = std::min(out.rows(), std::max<Index>(1, most / unit) * unit);
  std::vector<T> tile(at_once * out.cols());
  for (Index row = 0; row < out.rows(); row += at_once) {
    const Index count = std::min(at_once, out.rows() - row);
    fill(row * in_row, count * in_row, tile.data());
    parallel_for(count, min_rows, [&](Index begin, Index end) {
      for (Index i = begin; i < end; i += min_rows)
        out.write(row + i, std::min(min_rows, end - i), tile.data() + i * out.cols());
    });
  }
  return out.take();
}

// An output of that shape, seen as matrices of its last two extents, of which
// `fill(first, count, T* to)` computes some, on threads().
template <class T, class F>
Tensor write_matrices(const OutFormat& format, Shape shape, F&& fill) {
  if (shape.size() == 2) {
    // Whole or not at all.
    OutputRows<T> out(format, shape);
    if (T* to = out.in_place()) {
      fill(Index{0}, Index{1}, to);
    } else if (size_of(shape) > 0) {
      std::vector<T> all(size_of(shape));
      fill(Index{0}, Index{1}, all.data());
      out.write(0, shape[0], all.data());
    }
    return out.take();
  }
  Shape matrices(shape.begin(), shape.end() - 2);
  const Index size = shape[shape.size() - 2] * shape.back();
  matrices.push_back(size);
  OutputRows<T> out(format, std::move(shape));
  if (size_of(matrices) == 0) return out.take();
  const Index in_row = out.cols() / size;
  if (T* to = out.in_place()) {
    fill(Index{0}, out.rows() * in_row, to);
    return out.take();
  }
  const Index at_once = std::min(out.rows(), std::max<Index>(1, tile_elements / out.cols()));
  std::vector<T> tile(at_once * out.cols());
  for (Index row = 0; row < out.rows(); row += at_once) {
    const Index count = std::min(at_once, out.rows() - row);
    fill(row * in_row, count * in_row, tile.data());
    out.write(row, count, tile.data());
  }
  return out.take();
}

// C[m,n] = A[k,m]^T * B[k,n]. `shape`: [m, n], or with ones before it.
template <class T>
Tensor write_transposed_product(const OutFormat& format, Index m, Index n, Index k, const T* a,
                                const T* b, Shape shape) {
  std::vector<T> columns;
  return write_tokens<T>(format, std::move(shape), n, [&](Index row, Index count, T* to) {
    if (count == m) return gemm(Transpose::a, m, n, k, a, b, to);
    columns.resize(k * count);
    for (Index p = 0; p < k; ++p) std::copy_n(a + p * m + row, count, columns.data() + p * count);
    gemm(Transpose::a, count, n, k, columns.data(), b, to);
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

// The values of a tensor that has them in the layout's order.
template <class T>
const T* values_of(const Tensor& t) {
  return t.values()->as<T>().data();
}

// Sparse products are there in F32 only.
[[noreturn]] inline void refuse_double(const Tensor& w) {
  fail_unsupported("product: the sparse matrix is {} {}, not an F32 matrix", name_of(w.dtype()),
                   to_string(w.shape()));
}

// The gradient of w in same-pattern, w's positions in w's layout: of a masked w `fill(T* to)`
// computes it dense where it is to be, then what is masked out is 0; of others `sampled()` gives
// it.
Tensor masked_gradient(const Tensor& w, const std::function<void(Values&)>& fill);
// Error (usage) unless the format has w's numbers.
void check_same_pattern(std::string_view op, const Tensor& w, const OutFormat& format);

template <class T, class Sampled, class Fill>
Tensor gradient_at(std::string_view op, const Tensor& w, const OutFormat& format, Sampled&& sampled,
                   Fill&& fill) {
  check_same_pattern(op, w, format);
  if (!w.is<Masked>()) return sampled();
  return masked_gradient(w, [&](Values& v) { fill(v.mutate<T>().data()); });
}

// The gradient of a product: serves all that add_streamed() does, and beside it same-pattern for
// output i of `factors`, the gradient of in[i + 1], which is not dense.
void add_product_grad(Operators& all, Name op, std::vector<Name> in,
                      std::vector<std::size_t> factors, Implementation run);
// Whether it has only outputs of those kinds.
bool has_product_grads(const Signature& s, const std::vector<std::size_t>& factors);

}  // namespace sten
