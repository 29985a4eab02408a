// SPDX-License-Identifier: Apache-2.0
// Outputs and gradients of products, in their formats.
#pragma once
#include <numeric>
#include <string>
#include <vector>

#include "libsten/compute/ops/common/gemm.h"
#include "libsten/compute/ops/common/output.h"
#include "libsten/core/layout/masked.h"

namespace sten {

// Tile size of outputs that are not dense, in elements; at least one row. Tiles of tokens are at
// least an eighth of all, since the other factor is read for each tile.
inline constexpr Index tile_elements = Index{1} << 16, most_tile_elements = Index{1} << 21;

// An output of that shape with `width` values per token. `fill(token, count, T* to)` computes
// tokens, on threads().
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

// An output of that shape as matrices of its last two axes. `fill(first, count, T* to)` computes
// matrices, on threads().
template <class T, class F>
Tensor write_matrices(const OutFormat& format, Shape shape, F&& fill) {
  if (shape.size() == 2) {
    // A single matrix is computed as a whole.
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

// C[m,n] = A[k,m]^T * B[k,n]. `shape`: [m, n], perhaps with leading 1s.
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

// c[..., m, n]: `product(cols, in[k, cols], to[m, cols])` computes columns of one matrix from those
// of in[..., k, n].
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
  // A streaming sparsifier can process blocks of columns; others need whole rows.
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

// The values of a tensor, in the order of its layout.
template <class T>
const T* values_of(const Tensor& t) {
  return t.values()->as<T>().data();
}

// Sparse products support F32 only.
[[noreturn]] inline void refuse_double(const Tensor& w) {
  fail_unsupported("product: the sparse matrix must be an F32 matrix, got {} {}",
                   name_of(w.dtype()), to_string(w.shape()));
}

// The gradient of w in same-pattern, in w's layout. For a masked w, `fill(T* to)` computes it dense
// in place, and masked-out elements are set to 0; for other layouts, `sampled()` returns it.
Tensor masked_gradient(const Tensor& w, const std::function<void(Values&)>& fill);
// Error (usage) unless the format has the parameters of w's layout.
void check_same_pattern(std::string_view op, const Tensor& w, const OutFormat& format);

template <class T, class Sampled, class Fill>
Tensor gradient_at(std::string_view op, const Tensor& w, const OutFormat& format, Sampled&& sampled,
                   Fill&& fill) {
  check_same_pattern(op, w, format);
  if (!w.is<Masked>()) return sampled();
  return masked_gradient(w, [&](Values& v) { fill(v.mutate<T>().data()); });
}

// Registers the gradient of a product for the formats of add_streamed(), and for output i of
// `factors`, the gradient of a sparse in[i + 1], in same-pattern.
void add_product_grad(Operators& all, Name op, std::vector<Name> in,
                      std::vector<std::size_t> factors, Implementation run);
// Whether all outputs are of these kinds.
bool has_product_grads(const Signature& s, const std::vector<std::size_t>& factors);

}  // namespace sten
