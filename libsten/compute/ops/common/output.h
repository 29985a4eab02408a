// SPDX-License-Identifier: Apache-2.0
// Outputs of operators, written in their format as they are computed, without a dense tensor.
#pragma once
#include <algorithm>
#include <mutex>
#include <vector>

#include "libsten/core/base/parallel.h"
#include "libsten/core/dispatch/operators.h"

namespace sten {

// Calls f(float{}) or f(double{}) for a floating dtype of computation. Error for others.
template <class F>
decltype(auto) with_real(std::string_view op, DType dtype, F&& f) {
  if (dtype == DType::F64) return f(double{});
  if (dtype != DType::F32)
    fail_usage("{}: elements must be F32 or F64, got {}", op, name_of(dtype));
  return f(float{});
}
template <class T>
inline constexpr DType real_dtype = std::same_as<T, double> ? DType::F64 : DType::F32;

// An uninitialized dense output.
template <class T>
Dense unwritten(Shape shape) {
  const Index n = size_of(shape);
  return {std::move(shape), Values::uninitialized(real_dtype<T>, n)};
}

// Whether OutputRows writes the layout: dense and masked; and layouts with holds_any_pattern and a
// lossless route from csr, as csc, coo, bitmask and bcsr have.
bool writes_rows(Name layout);

// Writes rows of an output to the temporary layout of a format, by its inline sparsifier. The
// output is the matrix [shape[0], rest]; of rank below 2, one row.
template <class T>
class OutputRows {
 public:
  // The inline sparsifier must be local, and writes_rows() true for the layout.
  OutputRows(const OutFormat& format, Shape shape);
  Index rows() const { return rows_; }
  Index cols() const { return cols_; }
  // Dense memory for direct writes if all values are kept; else nullptr.
  T* in_place() { return in_place_; }
  // Writes rows, each once, from any thread.
  void write(Index row0, Index rows, const T* values);
  // Writes a block of columns; the inline sparsifier must be streaming.
  void write(Index row0, Index rows, Index col0, Index cols, const T* values);
  Tensor take();

 private:
  struct RowSegment {
    Index row0, col0;
    std::vector<std::int32_t> counts, index;
    std::vector<T> values;
  };
  Tensor compressed();
  void write_bits(const std::uint8_t* keep, Index count, Index at);

  const OutFormat& format_;
  Shape shape_;
  Index rows_, cols_;
  bool is_dense_, is_masked_, is_keep_all_;
  Values values_;  // dense and masked
  std::uint8_t* bits_ = nullptr;
  T* in_place_ = nullptr;
  T* to_ = nullptr;
  Mask mask_;
  std::mutex lock_;
  std::vector<RowSegment> pieces_;
};
extern template class OutputRows<float>;
extern template class OutputRows<double>;

// An output whose elements `fill(begin, end, T* to)` computes in row-major order, on threads().
// Ranges are multiples of `unit` neighbouring elements: lines of an axis with all inner axes.
template <class T, class F>
Tensor write_elements(const OutFormat& format, Shape shape, Index unit, F&& fill) {
  constexpr Index grain = Index{1} << 14;
  OutputRows<T> out(format, std::move(shape));
  const Index n = out.rows() * out.cols();
  if (n == 0) return out.take();
  if (T* to = out.in_place()) {
    parallel_for(n / unit, std::max<Index>(1, grain / unit), [&](Index begin, Index end) {
      fill(begin * unit, end * unit, to + begin * unit);
    });
  } else {
    const Index least = ceil_div(unit, out.cols());
    const Index at_once = std::max<Index>(1, grain / out.cols() / least) * least;
    parallel_for(ceil_div(out.rows(), at_once), 1, [&](Index begin, Index end) {
      std::vector<T> tile(std::min(at_once, out.rows()) * out.cols());
      for (Index t = begin; t < end; ++t) {
        const Index row = t * at_once, count = std::min(at_once, out.rows() - row);
        fill(row * out.cols(), (row + count) * out.cols(), tile.data());
        out.write(row, count, tile.data());
      }
    });
  }
  return out.take();
}
template <class T, class F>
Tensor write_elements(const OutFormat& format, Shape shape, F&& fill) {
  return write_elements<T>(format, std::move(shape), 1, std::forward<F>(fill));
}

// The same with f(i) for element i.
template <class T, class F>
Tensor write_each(const OutFormat& format, Shape shape, F&& f) {
  return write_elements<T>(format, std::move(shape), [&](Index begin, Index end, T* to) {
    for (Index i = begin; i < end; ++i) to[i - begin] = f(i);
  });
}

// Registers an implementation that writes its outputs with OutputRows, or skips unwanted ones: for
// dense outputs, and all layouts of writes_rows().
void add_streamed(Operators& all, Name op, std::vector<Name> in, std::size_t outputs,
                  Implementation run);
// Registers in operators(), for namespace scope: see add_operator().
bool add_streamed(Name op, std::vector<Name> in, std::size_t outputs, Implementation run);

}  // namespace sten
