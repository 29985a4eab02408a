// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/ops/common/output.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "libsten/core/layout/compressed.h"
#include "libsten/core/layout/masked.h"
#include "libsten/core/registry/route.h"

namespace sten {
namespace {

const Name keep_all(KeepAll::name);

bool writes_rows(const Signature& s) {
  return std::ranges::all_of(
      s.out, [](const OutSignature& o) { return o.is_none() || sten::writes_rows(o.tmp); });
}

}  // namespace

bool writes_rows(Name layout) {
  const Spec to{std::string(layout.text())};
  return has_dense_values(to) || (registry().holds_any_pattern(to.name()) &&
                                  !find_route(registry(), Spec(Csr::name), to).through_dense());
}

template <class T>
OutputRows<T>::OutputRows(const OutFormat& format, Shape shape)
    : format_(format), shape_(std::move(shape)) {
  const Index n = size_of(shape_);
  rows_ = shape_.size() < 2 ? 1 : shape_[0];
  cols_ = rows_ == 0 ? 0 : n / rows_;
  is_keep_all_ = &format == &OutFormat::dense() || format.inline_by.name() == keep_all;
  is_dense_ = format.tmp.is(Dense::name);
  is_masked_ = format.tmp.is(Masked::name);
  if (!is_dense_ && !is_masked_) {
    registry().check_layout(format.tmp);
    MatrixView::of(shape_);
    if (cols_ > std::numeric_limits<std::int32_t>::max())
      fail("{}: {} columns do not fit 32-bit indices", format.tmp.name(), cols_);
    return;
  }
  values_ = Values::uninitialized(real_dtype<T>, n);
  to_ = values_.mutate<T>().data();
  if (is_masked_) {
    mask_ = Mask::none(shape_);
    bits_ = mask_.bits.mutate();
  } else if (is_keep_all_) {
    in_place_ = to_;
  }
}

template <class T>
void OutputRows<T>::write(Index row0, Index rows, const T* values) {
  write(row0, rows, 0, cols_, values);
}

// Writes bits of a run from element `at` on: 64 at a time, since other threads write neighbouring
// bits.
template <class T>
void OutputRows<T>::write_bits(const std::uint8_t* keep, Index count, Index at) {
  for (Index i = 0; i < count; i += 64) {
    std::uint64_t word = 0;
    for (Index j = 0; j < std::min<Index>(64, count - i); ++j)
      word |= std::uint64_t{keep[i + j]} << j;
    set_bits_shared(bits_, at + i, word);
  }
}

template <class T>
void OutputRows<T>::write(Index row0, Index rows, Index col0, Index cols, const T* values) {
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  const Index count = rows * cols;
  std::vector<std::uint8_t> keep(count);
  if (is_keep_all_) {
    // Layouts other than dense do not store zeros.
    for (Index i = 0; i < count; ++i) keep[i] = values[i] != 0 || std::signbit(values[i]);
  } else if (cols == cols_) {
    format_.inline_by.select_rows(values, row0 * cols, rows, cols, keep.data());
    // A blocking sparsifier may keep any value.
    if (format_.inline_by.kind() != Kind::streaming)
      for (std::uint8_t& k : keep) k = k != 0;
  } else {
    for (Index r = 0; r < rows; ++r)
      format_.inline_by.select_rows(values + r * cols, (row0 + r) * cols_ + col0, 1, cols,
                                    keep.data() + r * cols);
  }
  if (to_) {
    for (Index r = 0; r < rows; ++r) {
      const Index i = r * cols, at = (row0 + r) * cols_ + col0;
      for (Index c = 0; c < cols; ++c)
        to_[at + c] =
            std::bit_cast<T>(std::bit_cast<Bits>(values[i + c]) & (Bits{0} - keep[i + c]));
      if (bits_) write_bits(keep.data() + i, cols, at);
    }
    return;
  }
  RowSegment p{row0, col0, std::vector<std::int32_t>(rows), {}, {}};
  // Writes every value and advances only past kept ones: kept values are unpredictable, and a
  // branch each would be several times slower.
  thread_local std::vector<std::int32_t> index;
  thread_local std::vector<T> scratch;
  if (std::ssize(index) < count) {
    index.resize(count);
    scratch.resize(count);
  }
  Index n = 0;
  for (Index r = 0; r < rows; ++r) {
    const Index before = n;
    for (Index c = 0; c < cols; ++c) {
      index[n] = static_cast<std::int32_t>(col0 + c);
      scratch[n] = values[r * cols + c];
      n += keep[r * cols + c];
    }
    p.counts[r] = static_cast<std::int32_t>(n - before);
  }
  p.index.assign(index.begin(), index.begin() + n);
  p.values.assign(scratch.begin(), scratch.begin() + n);
  const std::lock_guard hold(lock_);
  pieces_.push_back(std::move(p));
}

template <class T>
Tensor OutputRows<T>::compressed() {
  std::ranges::sort(pieces_, {}, [](const RowSegment& p) { return std::pair(p.row0, p.col0); });
  Csr out;
  out.extents = shape_;
  out.ptr = Array<std::int64_t>(rows_ + 1);
  std::int64_t* ptr = out.ptr.mutate();
  for (const RowSegment& p : pieces_)
    for (std::size_t r = 0; r < p.counts.size(); ++r) ptr[p.row0 + r + 1] += p.counts[r];
  for (Index r = 0; r < rows_; ++r) ptr[r + 1] += ptr[r];
  const Index nnz = ptr[rows_];
  out.index = Array<std::int32_t>::uninitialized(nnz);
  out.values = Values::uninitialized(real_dtype<T>, nnz);
  std::int32_t* index = out.index.mutate();
  T* values = out.values.mutate<T>().data();
  // The next position of each row, since blocks arrive by columns.
  std::vector<std::int64_t> next(ptr, ptr + rows_);
  for (RowSegment& p : pieces_) {
    Index from = 0;
    for (std::size_t r = 0; r < p.counts.size(); ++r) {
      const Index n = p.counts[r], at = next[p.row0 + r];
      std::copy_n(p.index.begin() + from, n, index + at);
      std::copy_n(p.values.begin() + from, n, values + at);
      from += n;
      next[p.row0 + r] += n;
    }
    p = {};
  }
  pieces_.clear();
  return convert(out, format_.tmp);
}

template <class T>
Tensor OutputRows<T>::take() {
  if (is_dense_) return Dense{std::move(shape_), std::move(values_)};
  if (is_masked_) return Masked{std::move(shape_), std::move(values_), std::move(mask_.bits)};
  return compressed();
}

template class OutputRows<float>;
template class OutputRows<double>;

void add_streamed(Operators& all, Name op, std::vector<Name> in, std::size_t outputs,
                  Implementation run) {
  all.add({op, in, std::vector<OutSignature>(outputs)}, run);
  const OutSignature any_local{any::local, any::layout};
  all.add({op, std::move(in), std::vector<OutSignature>(outputs, any_local)}, std::move(run),
          [](const Signature& s) { return writes_rows(s); });
}

bool add_streamed(Name op, std::vector<Name> in, std::size_t outputs, Implementation run) {
  add_streamed(operators(), op, std::move(in), outputs, std::move(run));
  return true;
}

}  // namespace sten
