#include "libsten/layout/csr.h"

#include <limits>

#include "libsten/base/error.h"
#include "libsten/base/parallel.h"

namespace sten {
namespace {

constexpr Index most_empty_lines = Index{1} << 24;

// About 64k elements of work per piece.
Index line_grain(Index cols) { return std::max<Index>(1, mask_grain / std::max<Index>(1, cols)); }

void check_columns(const MatrixView& view) {
  if (view.cols > std::numeric_limits<std::int32_t>::max())
    fail("csr: {} columns do not fit its 32-bit column numbers", view.cols);
}

}  // namespace

Dims dims_of(const Spec& spec) {
  return spec.has("dims") ? Dims::parse(spec.word("dims", "")) : Dims{};
}

void Csr::check(const Spec& spec) { dims_of(spec); }

Csr Csr::pack(const Dense& x, const Mask& keep, const Spec& spec) {
  check_same_shape(x, keep);
  const Dims dims = dims_of(spec);
  const MatrixView view = MatrixView::of(x.extents, dims);
  check_columns(view);
  const Index lines = view.batches * view.rows;
  // Rows without columns cost no memory until they have pointers.
  if (view.cols == 0 && lines > most_empty_lines) fail("csr: {} rows without columns", lines);
  const std::uint8_t* bits = keep.bits.data();

  Csr m{x.extents, dims, Array<std::int64_t>(lines + 1), {}, {}};
  std::int64_t* ptr = m.ptr.mutate();
  parallel_for(lines, line_grain(view.cols), [&](Index begin, Index end) {
    for (Index l = begin; l < end; ++l) {
      const Index start = view.line_offset(l);
      Index n = 0;
      for (Index c = 0; c < view.cols; ++c) n += bit_at(bits, start + c * view.col_stride);
      ptr[l + 1] = n;
    }
  });
  for (Index l = 0; l < lines; ++l) ptr[l + 1] += ptr[l];

  m.index = Array<std::int32_t>::uninitialized(ptr[lines]);
  m.values = Values::uninitialized(x.dtype(), ptr[lines]);
  std::int32_t* index = m.index.mutate();
  with_width(x.values.width(), [&]<class U>(U) {
    const auto from = x.values.as<U>();
    const auto to = m.values.mutate<U>();
    parallel_for(lines, line_grain(view.cols), [&](Index begin, Index end) {
      for (Index l = begin; l < end; ++l) {
        Index at = ptr[l];
        const Index start = view.line_offset(l);
        for (Index c = 0; c < view.cols; ++c) {
          const Index i = start + c * view.col_stride;
          if (!bit_at(bits, i)) continue;
          index[at] = static_cast<std::int32_t>(c);
          to[at++] = from[i];
        }
      }
    });
  });
  return m;
}

Dense Csr::to_dense() const {
  const MatrixView view = MatrixView::of(extents, dims);
  Dense x = Dense::zeros(values.dtype(), extents);
  with_width(values.width(), [&]<class U>(U) {
    const auto from = values.as<U>();
    const auto to = x.values.mutate<U>();
    parallel_for(view.batches * view.rows, line_grain(view.cols), [&](Index begin, Index end) {
      for (Index l = begin; l < end; ++l) {
        const Index start = view.line_offset(l);
        for (Index at = ptr[l]; at < ptr[l + 1]; ++at)
          to[start + index[at] * view.col_stride] = from[at];
      }
    });
  });
  return x;
}

Mask Csr::stored() const {
  const MatrixView view = MatrixView::of(extents, dims);
  Mask m = Mask::none(extents);
  std::uint8_t* bits = m.bits.mutate();
  for (Index l = 0; l < view.batches * view.rows; ++l) {
    const Index start = view.line_offset(l);
    for (Index at = ptr[l]; at < ptr[l + 1]; ++at)
      set_bit(bits, start + index[at] * view.col_stride);
  }
  return m;
}

void Csr::loaded() const {
  const MatrixView view = MatrixView::of(extents, dims);
  check_columns(view);
  const Index lines = view.batches * view.rows, nnz = values.size();
  if (static_cast<Index>(ptr.size()) != lines + 1)
    fail("{} row pointers do not fit {} rows", ptr.size(), lines);
  if (static_cast<Index>(index.size()) != nnz)
    fail("{} column numbers do not fit {} values", index.size(), nnz);
  if (ptr[0] != 0) fail("the row pointers start at {}, not 0", ptr[0]);
  for (Index l = 0; l < lines; ++l)
    if (ptr[l + 1] < ptr[l]) fail("the row pointers decrease at row {}", l);
  if (ptr[lines] != nnz) fail("the row pointers end at {}, {} values are stored", ptr[lines], nnz);
  parallel_for(lines, line_grain(view.cols), [&](Index begin, Index end) {
    for (Index l = begin; l < end; ++l)
      for (Index at = ptr[l]; at < ptr[l + 1]; ++at) {
        if (index[at] < 0 || index[at] >= view.cols)
          fail("row {} has column {} of {}", l, index[at], view.cols);
        if (at > ptr[l] && index[at] <= index[at - 1])
          fail("row {} has column {} after column {}", l, index[at], index[at - 1]);
      }
  });
}

}  // namespace sten
