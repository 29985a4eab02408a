#include "libsten/layout/convert.h"

#include <algorithm>

#include "libsten/base/error.h"

namespace sten {
namespace {

// Entries in any order: offsets[slot] is the dense offset of a value, -1 in padding.
Csr gathered(const Shape& extents, Dims dims, const Values& values,
             const std::vector<Index>& offsets) {
  const MatrixView v = MatrixView::of(extents, dims);
  layout_detail::check_columns(v, "csr");
  const Index lines = v.batches * v.rows;
  Csr out{extents, dims, Array<std::int64_t>(lines + 1), {}, {}};
  std::int64_t* ptr = out.ptr.mutate();
  for (const Index at : offsets)
    if (at >= 0) ++ptr[v.place(at).first + 1];
  for (Index l = 0; l < lines; ++l) ptr[l + 1] += ptr[l];
  struct Entry {
    Index col, slot;
  };
  std::vector<Entry> entries(ptr[lines]);
  std::vector<std::int64_t> next(ptr, ptr + lines);
  for (std::size_t slot = 0; slot < offsets.size(); ++slot)
    if (offsets[slot] >= 0) {
      const auto [l, c] = v.place(offsets[slot]);
      entries[next[l]++] = {c, static_cast<Index>(slot)};
    }
  out.index = Array<std::int32_t>::uninitialized(entries.size());
  out.values = Values::uninitialized(values.dtype(), ptr[lines]);
  std::int32_t* index = out.index.mutate();
  with_width(values.width(), [&]<class U>(U) {
    const auto from = values.as<U>();
    const auto to = out.values.mutate<U>();
    for (Index l = 0; l < lines; ++l) {
      std::sort(entries.begin() + ptr[l], entries.begin() + ptr[l + 1],
                [](const Entry& a, const Entry& b) { return a.col < b.col; });
      for (Index at = ptr[l]; at < ptr[l + 1]; ++at) {
        index[at] = static_cast<std::int32_t>(entries[at].col);
        to[at] = from[entries[at].slot];
      }
    }
  });
  return out;
}

}  // namespace

Csr to_csr(const Bitmask& x) {
  const MatrixView v = MatrixView::of(x.extents);
  layout_detail::check_columns(v, "csr");
  Csr out{x.extents,
          {},
          Array<std::int64_t>(v.rows + 1),
          Array<std::int32_t>::uninitialized(x.values.size()),
          x.values};
  std::int64_t* ptr = out.ptr.mutate();
  std::int32_t* index = out.index.mutate();
  Index at = 0;
  for (Index r = 0; r < v.rows; ++r) {
    for (Index c = 0; c < v.cols; ++c)
      if (bit_at(x.mask.data(), r * v.cols + c)) index[at++] = static_cast<std::int32_t>(c);
    ptr[r + 1] = at;
  }
  return out;
}

Bitmask to_bitmask(const Csr& x) { return {x.extents, x.stored().bits, x.values}; }

Csr to_csr(const Nm& x) { return gathered(x.extents, x.dims, x.values, x.offsets()); }
Csr to_csr(const Nmg& x) { return gathered(x.extents, x.dims, x.values, x.offsets()); }

}  // namespace sten
