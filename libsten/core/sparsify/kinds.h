// SPDX-License-Identifier: Apache-2.0
// Selection by streaming and blocking sparsifiers from a tensor and from the entries of a sparse
// tensor.
#pragma once
#include <algorithm>
#include <concepts>
#include <span>
#include <type_traits>
#include <vector>

#include "libsten/core/base/floats.h"
#include "libsten/core/base/parallel.h"
#include "libsten/core/layout/entries.h"
#include "libsten/core/tensor/layout.h"

namespace sten {

template <class S>
concept Streaming = Named<S> && requires(const S& s) {
  { s.keep(0.0f, Index{}) } -> std::same_as<bool>;
};
template <class S>
concept Blocking = Named<S> &&
    requires(const S& s, std::span<const float> in, std::span<std::uint8_t> keep) {
  { s.block() } -> std::convertible_to<Index>;
  s.select(in, keep);
};
namespace sparsify_detail {

// Error unless elements of the dtype have a magnitude.
void check_prunable(DType dtype);
// The matrix along whose rows blocks run; tensors of rank 0 and 1 are one row.
MatrixView rows_of(const Shape& shape, Index axis, Dims dims);

// at(k): the dense offset of value k.
template <Streaming S, class At>
Mask stream(const S& s, const Shape& extents, const Values& x, At at) {
  Mask mask = Mask::none(extents);
  std::uint8_t* bits = mask.bits.mutate();
  with_float(x.dtype(), [&]<class E>(E) {
    const auto v = x.as<typename E::Bits>();
    parallel_for(x.size(), mask_grain, [&](Index begin, Index end) {
      for (Index k = begin; k < end; ++k)
        if (s.keep(E::decode(v[k]), at(k))) set_bit(bits, k);
    });
  });
  return mask;
}

// The matrix along whose rows the blocks of s run.
template <class S>
MatrixView rows_for(const S& s, const Shape& shape) {
  Index axis = 1;
  Dims dims;
  if constexpr (requires { s.axis; }) axis = s.axis;
  if constexpr (requires { s.dims; }) dims = s.dims;
  if (s.block() < 1)
    fail_usage("{}: expected a block of 1 or more values, got {}", S::name, s.block());
  return rows_of(shape, axis, dims);
}
template <class S, class T>
concept SelectsAs = requires(const S& s, std::span<const T> in, std::span<std::uint8_t> keep) {
  s.select(in, keep);
};
// The type to which elements E are decoded.
template <class S, class E>
using BlockScore = std::conditional_t<SelectsAs<S, typename E::Score>, typename E::Score, float>;

template <Blocking S>
Mask block(const S& s, const Dense& x) {
  const MatrixView view = rows_for(s, x.extents);
  Mask mask = Mask::none(x.extents, x.device());
  // An empty matrix may have any number of rows.
  if (x.size() == 0) return mask;
  if constexpr (requires { s.select_by_row(x, view, mask.bits.mutate()); })
    if (s.select_by_row(x, view, mask.bits.mutate())) return mask;
  const Index b = std::min<Index>(s.block(), view.cols);
  std::uint8_t* bits = mask.bits.mutate();
  with_float(x.dtype(), [&]<class E>(E) {
    using Score = BlockScore<S, E>;
    const auto v = x.values.as<typename E::Bits>();
    const Index grain = std::max<Index>(1, mask_grain / (view.cols + 1));
    parallel_for(view.batches * view.rows, grain, [&](Index begin, Index end) {
      std::vector<Score> in(b);
      std::vector<std::uint8_t> keep(b);
      for (Index l = begin; l < end; ++l) {
        const Index start = view.row_offset(l);
        for (Index c = 0; c < view.cols; c += b) {
          const Index width = std::min(b, view.cols - c);
          for (Index j = 0; j < width; ++j)
            in[j] = static_cast<Score>(E::decode(v[start + (c + j) * view.col_stride]));
          std::fill(keep.begin(), keep.end(), std::uint8_t{0});
          s.select(std::span<const Score>(in.data(), width), std::span(keep.data(), width));
          for (Index j = 0; j < width; ++j) {
            const Index i = start + (c + j) * view.col_stride;
            // Rows share bytes of the mask.
            if (keep[j]) set_bit_shared(bits, i);
          }
        }
      }
    });
  });
  return mask;
}

struct EntryPosition {
  Index line, col, entry;
};
// Sorts by row, then column.
std::vector<EntryPosition> entry_positions(const Entries& x, const MatrixView& view);

// Visits only blocks that have entries.
template <Blocking S>
Mask block_stored(const S& s, const Entries& x) {
  const MatrixView view = rows_for(s, x.extents);
  Mask mask = Mask::none({x.size()});
  const std::vector<EntryPosition> positions = entry_positions(x, view);
  const Index b = std::min<Index>(s.block(), view.cols);
  std::uint8_t* bits = mask.bits.mutate();
  with_float(x.values.dtype(), [&]<class E>(E) {
    using Score = BlockScore<S, E>;
    const auto v = x.values.as<typename E::Bits>();
    std::vector<Score> in(b);
    std::vector<std::uint8_t> keep(b);
    for (auto p = positions.begin(); p != positions.end();) {
      const Index line = p->line, first = p->col / b * b, width = std::min(b, view.cols - first);
      std::fill(in.begin(), in.end(), Score{0});
      std::fill(keep.begin(), keep.end(), std::uint8_t{0});
      auto end = p;
      for (; end != positions.end() && end->line == line && end->col < first + width; ++end)
        in[end->col - first] = static_cast<Score>(E::decode(v[end->entry]));
      s.select(std::span<const Score>(in.data(), width), std::span(keep.data(), width));
      for (; p != end; ++p)
        if (keep[p->col - first]) set_bit(bits, p->entry);
    }
  });
  return mask;
}

}  // namespace sparsify_detail

}  // namespace sten
