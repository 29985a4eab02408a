// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/tensors/row_major.h"

#include <algorithm>
#include <vector>

#include "libsten/core/base/parallel.h"

namespace sten {
namespace {

struct Dimension {
  Index extent, from, to;  // strides of the input and the output
};

// Copies tiles that fill a cache line of the output. One dimension forms the rows, chosen to be as
// close together in the input as possible; the others form the columns.
template <class U>
void gather(const U* in, std::vector<Dimension> dimensions, U* out) {
  const auto nearest =
      std::min_element(dimensions.begin(), dimensions.end(),
                       [](const Dimension& a, const Dimension& b) { return a.from < b.from; });
  const Dimension rows = *nearest;
  dimensions.erase(nearest);
  Index cols = 1;
  for (const Dimension& d : dimensions) cols *= d.extent;
  constexpr Index tile = 64 / sizeof(U);
  parallel_for(ceil_div(cols, tile), 4, [&](Index begin, Index end) {
    Index from[tile], to[tile];
    for (Index t = begin; t < end; ++t) {
      const Index first = t * tile, width = std::min(tile, cols - first);
      for (Index c = 0; c < width; ++c) {
        from[c] = to[c] = 0;
        Index rest = first + c;
        for (std::size_t d = dimensions.size(); d-- > 0; rest /= dimensions[d].extent) {
          const Index i = rest % dimensions[d].extent;
          from[c] += i * dimensions[d].from;
          to[c] += i * dimensions[d].to;
        }
      }
      for (Index r = 0; r < rows.extent; ++r)
        for (Index c = 0; c < width; ++c) out[to[c] + r * rows.to] = in[from[c] + r * rows.from];
    }
  });
}

}  // namespace

Shape column_major(const Shape& shape) {
  Shape strides(shape.size(), 1);
  for (std::size_t d = 1; d < shape.size(); ++d)
    strides[d] = strides[d - 1] * std::max<Index>(1, shape[d - 1]);
  return strides;
}

bool is_row_major(const Shape& shape, const Shape& strides) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return true;
  Index wanted = 1;
  for (std::size_t d = shape.size(); d-- > 0; wanted *= shape[d])
    if (shape[d] != 1 && strides[d] != wanted) return false;
  return true;
}

Values row_major(const Values& from, const Shape& shape, const Shape& strides) {
  if (is_row_major(shape, strides)) return from;
  std::vector<Dimension> dimensions;
  Index size = 1;
  for (std::size_t d = shape.size(); d-- > 0; size *= shape[d])
    if (shape[d] != 1) dimensions.push_back({shape[d], strides[d], size});
  std::reverse(dimensions.begin(), dimensions.end());
  Values out = Values::uninitialized(from.dtype(), size);
  with_width(from.width(),
             [&]<class U>(U) { gather(from.as<U>().data(), dimensions, out.mutate<U>().data()); });
  return out;
}

}  // namespace sten
