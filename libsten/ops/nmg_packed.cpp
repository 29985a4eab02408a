#include "libsten/ops/nmg_packed.h"

#include <algorithm>

#include "libsten/base/parallel.h"

namespace sten {
namespace {

using kernels::panel_width;

// Where slabs begin, and the end of the last.
std::vector<Index> cut(Index cols, Index chunk) {
  std::vector<Index> at{0};
  if (chunk <= most_slab_rows) {
    const Index step = most_slab_rows / chunk * chunk;
    while (at.back() < cols) at.push_back(std::min(cols, at.back() + step));
  } else {
    const Index parts = ceil_div(chunk, most_slab_rows);
    for (Index c = 0; c < cols; c += chunk)
      for (Index i = 1; i <= parts && at.back() < cols; ++i)
        at.push_back(std::min(cols, c + i * chunk / parts));
  }
  return at;
}

}  // namespace

NmgPacked::NmgPacked(const Nmg& a)
    : rows(a.extents[0]), cols(a.extents[1]), n(a.n), m(a.m), table(PatternTable::get(n, m)) {
  const NmgGeometry geo = a.geometry();
  row_blocks = geo.row_blocks;
  slabs = cut(cols, geo.strips);
  std::vector<Index> slab_of(cols);
  for (Index s = 0; s < slab_count(); ++s)
    std::fill(slab_of.begin() + slabs[s], slab_of.begin() + slabs[s + 1], s);

  const Index patterns = table->count();
  counts.assign(slab_count() * row_blocks * patterns, 0);
  first.assign(slab_count() * row_blocks, 0);
  // f(slot, column, its slab, pattern) of a row block.
  const auto each_slot = [&](Index block, auto&& f) {
    for (Index chunk = 0; chunk < geo.chunks; ++chunk)
      for (Index p = 0; p < patterns; ++p)
        for (Index j = 0; j < a.g; ++j) {
          const Index slot = ((block * geo.chunks + chunk) * patterns + p) * a.g + j;
          const Index col = chunk * geo.strips + strip_at(a.index, slot);
          if (col < cols) f(slot, col, slab_of[col], p);
        }
  };
  parallel_for(row_blocks, 1, [&](Index begin, Index end) {
    for (Index b = begin; b < end; ++b)
      each_slot(b, [&](Index, Index, Index s, Index p) {
        ++counts[(s * row_blocks + b) * patterns + p];
      });
  });
  Index strips = 0;
  for (Index i = 0; i < std::ssize(first); ++i) {
    first[i] = strips;
    for (Index p = 0; p < patterns; ++p) strips += counts[i * patterns + p];
  }
  offsets.resize(strips);
  values.resize(strips * n);

  const auto from = a.values.as<float>();
  parallel_for(row_blocks, 1, [&](Index begin, Index end) {
    std::vector<Index> next(slab_count() * patterns);
    for (Index b = begin; b < end; ++b) {
      for (Index s = 0; s < slab_count(); ++s) {
        Index at = first[s * row_blocks + b];
        for (Index p = 0; p < patterns; ++p) {
          next[s * patterns + p] = at;
          at += counts[(s * row_blocks + b) * patterns + p];
        }
      }
      each_slot(b, [&](Index slot, Index col, Index s, Index p) {
        const Index at = next[s * patterns + p]++;
        offsets[at] = static_cast<std::uint16_t>((col - slabs[s]) * panel_width * sizeof(float));
        std::copy_n(&from[slot * n], n, &values[at * n]);
      });
    }
  });
}

}  // namespace sten
