// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/product/nmg_packed.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "libsten/compute/product/packed.h"
#include "libsten/core/base/parallel.h"
#include "libsten/core/layout/nmg_slots.h"

namespace sten {
namespace {

using kernels::panel_width;

// The starts of slabs, and the end of the last.
std::vector<Index> cut(Index cols, Index chunk, Index most) {
  std::vector<Index> at{0};
  if (chunk <= most) {
    const Index step = most / chunk * chunk;
    while (at.back() < cols) at.push_back(std::min(cols, at.back() + step));
  } else {
    const Index parts = ceil_div(chunk, most);
    for (Index c = 0; c < cols; c += chunk)
      for (Index i = 1; i <= parts && at.back() < cols; ++i)
        at.push_back(std::min(cols, c + i * chunk / parts));
  }
  return at;
}

}  // namespace

NmgPacked::NmgPacked(const Nmg& a, Index most_rows)
    : rows(a.extents[0]), cols(a.extents[1]), n(a.n), m(a.m) {
  const NmgGeometry geo = a.geometry();
  row_blocks = geo.row_blocks;
  slabs = cut(cols, geo.strips, most_rows);
  std::vector<Index> slab_of(cols);
  for (Index s = 0; s < slab_count(); ++s)
    std::fill(slab_of.begin() + slabs[s], slab_of.begin() + slabs[s + 1], s);

  const auto table = PatternTable::get(n, m);
  pattern_count = table->count();
  std::vector<Index> order(pattern_count), place(pattern_count);
  std::iota(order.begin(), order.end(), Index{0});
  std::sort(order.begin(), order.end(), [&](Index p, Index q) {
    return std::ranges::lexicographical_compare((*table)[p], (*table)[q]);
  });
  for (Index i = 0; i < pattern_count; ++i) {
    place[order[i]] = i;
    patterns.insert(patterns.end(), (*table)[order[i]].begin(), (*table)[order[i]].end());
  }

  counts.assign(slab_count() * row_blocks * pattern_count, 0);
  first.assign(slab_count() * row_blocks, 0);
  // Calls f(slot, column, slab of the column, pattern) for a row block.
  const auto each_slot = [&](Index block, auto&& f) {
    for (Index chunk = 0; chunk < geo.chunks; ++chunk)
      for (Index p = 0; p < pattern_count; ++p)
        for (Index j = 0; j < a.g; ++j) {
          const Index slot = ((block * geo.chunks + chunk) * pattern_count + p) * a.g + j;
          const Index col = chunk * geo.strips + strip_at(a.index, slot);
          if (col < cols) f(slot, col, slab_of[col], place[p]);
        }
  };
  parallel_for(row_blocks, 1, [&](Index begin, Index end) {
    for (Index b = begin; b < end; ++b)
      each_slot(b, [&](Index, Index, Index s, Index p) {
        ++counts[(s * row_blocks + b) * pattern_count + p];
      });
  });
  groups = kernels::nmg_gemm().groups(n, m);
  std::vector<Index> group_size(pattern_count);  // size of each pattern's group
  for (Index k = 0; k < groups; ++k) {
    const Index begin = pattern_rows().first_of(k), end = pattern_rows().first_of(k + 1);
    std::fill(group_size.begin() + begin, group_size.begin() + end, end - begin);
  }
  Index strips = 0;
  for (Index s = 0; s < slab_count(); ++s) {
    const auto of_slab =
        std::span(counts).subspan(s * row_blocks * pattern_count, row_blocks * pattern_count);
    const bool even = std::ranges::all_of(of_slab, [&](auto c) { return c == of_slab[0]; });
    steps.push_back(groups > 0 && even && row_blocks ? of_slab[0] : -1);
    for (Index b = 0; b < row_blocks; ++b) {
      first[s * row_blocks + b] = strips;
      strips += slab_rows(s);
    }
  }
  offsets = Array<std::uint16_t>(strips + kernels::nmg_read_ahead);
  values = Array<float>(strips * n + kernels::nmg_read_ahead);
  std::uint16_t* const to_offsets = offsets.mutate();
  float* const to_values = values.mutate();

  const auto from = packable(a.values);
  parallel_for(row_blocks, 1, [&](Index begin, Index end) {
    std::vector<Index> next(slab_count() * pattern_count);
    for (Index b = begin; b < end; ++b) {
      for (Index s = 0; s < slab_count(); ++s) {
        Index at = first[s * row_blocks + b];
        for (Index p = 0; steps[s] < 0 && p < pattern_count; ++p) {
          next[s * pattern_count + p] = at;
          at += counts[(s * row_blocks + b) * pattern_count + p];
        }
        for (Index k = 0; steps[s] >= 0 && k < groups; ++k)
          for (Index p = pattern_rows().first_of(k); p < pattern_rows().first_of(k + 1); ++p)
            next[s * pattern_count + p] = at + pattern_rows().first_of(k) * (steps[s] - 1) + p;
      }
      each_slot(b, [&](Index slot, Index col, Index s, Index p) {
        Index& at = next[s * pattern_count + p];
        to_offsets[at] = static_cast<std::uint16_t>((col - slabs[s]) * panel_width * sizeof(float));
        std::copy_n(&from[slot * n], n, &to_values[at * n]);
        at += steps[s] >= 0 ? group_size[p] : 1;
      });
    }
  });
  if (kernels::nmg_gemm().supports_block_pairs(n, m)) pair_row_blocks(a);
}

}  // namespace sten
