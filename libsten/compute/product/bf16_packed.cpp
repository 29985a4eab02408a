// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/product/bf16_packed.h"

#include <algorithm>

#include "libsten/compute/product/interleaved.h"
#include "libsten/compute/product/rounded_values.h"
#include "libsten/core/base/parallel.h"

namespace sten {
namespace {

using kernels::tile_feature_pairs, kernels::tile_rows, kernels::tile_size;

// Few slabs of equal size: storing and reloading sums of tiles costs as much as a dozen products or
// more. Two panels of a slab must fit in the L2 cache.
std::vector<Index> bf16_slabs(Index cols) {
  constexpr Index most = 3072;
  std::vector<Index> slabs{0};
  const Index tiles = ceil_div(cols, tile_features);
  const Index count = ceil_div(tiles, most / tile_features);
  for (Index s = 1; s <= count; ++s)
    slabs.push_back(std::min(cols, s * tiles / count * tile_features));
  return slabs;
}

// A dense matrix in bfloat16, with zeros beyond the edges.
struct PaddedMatrix {
  const Index rows, cols;
  const RoundedValues values;

  explicit PaddedMatrix(const Dense& a)
      : rows(a.extents[0]), cols(a.extents[1]), values(a.values) {}
  std::uint16_t operator()(Index r, Index k) const {
    return r < rows && k < cols ? values[r * cols + k] : std::uint16_t{0};
  }
  // Elements of row r from column k on.
  void copy(Index r, Index k, Index count, std::uint16_t* to) const {
    const Index inside = r < rows ? std::clamp<Index>(cols - k, 0, count) : 0;
    values.copy(r * cols + k, inside, to);
    std::fill_n(to + inside, count - inside, std::uint16_t{0});
  }
};

// For each 16 rows, the pairs of columns in which any row stores an element.
std::vector<std::vector<std::uint32_t>> tile_pairs_of(const Mask& stored) {
  const Index rows = stored.extents[0], cols = stored.extents[1];
  std::vector<std::vector<std::uint32_t>> interleaved(ceil_div(rows, tile_rows));
  parallel_for(std::ssize(interleaved), 1, [&](Index begin, Index end) {
    std::vector<char> has;
    for (Index t = begin; t < end; ++t) {
      has.assign(ceil_div(cols, Index{2}), 0);
      for (Index r = t * tile_rows; r < std::min(rows, (t + 1) * tile_rows); ++r)
        for (Index k = 0; k < cols; ++k) has[k / 2] |= static_cast<char>(stored[r * cols + k]);
      for (std::size_t p = 0; p < has.size(); ++p)
        if (has[p]) interleaved[t].push_back(static_cast<std::uint32_t>(p));
    }
  });
  return interleaved;
}

}  // namespace

Bf16Packed pack_bf16_dense(const Dense& a) {
  // Matrix tiles multiply two tiles of rows at a time. Other kernels multiply one, and read it
  // sequentially (AVX-512 BF16, three panels: 225 instead of 208 GFLOP/s).
  const bool has_tiles = kernels::active_isa() >= kernels::Isa::amx;
  const Index group = has_tiles ? 2 * tile_rows : tile_rows;
  Bf16Packed p;
  p.rows = a.extents[0], p.cols = a.extents[1];
  p.slabs = bf16_slabs(p.cols);
  const Index rows = ceil_div(p.rows, tile_rows) * tile_rows;
  for (Index r = 0; r < rows; r += group) p.group_rows.push_back(r);
  p.group_rows.push_back(rows);
  p.values = Array<std::uint16_t>::uninitialized_in_arena(rows * padded_features(p.cols));
  const std::uint16_t* at = p.values.data();
  for (Index s = 0; s < p.slab_count(); ++s)
    for (Index g = 0; g < p.group_count(); ++g) {
      const Index depth = ceil_div(p.slab_features(s), tile_features);
      p.parts.push_back({at, nullptr, p.tiles_of(g), depth});
      at += p.tiles_of(g) * depth * tile_size;
    }
  std::uint16_t* all = p.values.mutate();
  const PaddedMatrix values(a);
  parallel_for(p.group_count(), 1, [&](Index begin, Index end) {
    for (Index g = begin; g < end; ++g)
      for (Index s = 0; s < p.slab_count(); ++s) {
        const kernels::TileRows& part = p.parts[s * p.group_count() + g];
        std::uint16_t* to = all + (part.values - p.values.data());
        for (Index d = 0; d < part.depth; ++d)
          for (Index r = 0; r < part.tiles * tile_rows; ++r, to += tile_features)
            values.copy(p.group_rows[g] + r, p.slabs[s] + d * tile_features, tile_features, to);
      }
  });
  return p;
}

Bf16Packed pack_bf16_groups(const Dense& a, std::vector<Index> group_rows,
                            const std::vector<std::vector<std::uint32_t>>& interleaved) {
  const Index count = std::ssize(interleaved);
  Bf16Packed p;
  p.rows = a.extents[0], p.cols = a.extents[1];
  p.group_rows = std::move(group_rows);
  p.slabs = bf16_slabs(p.cols);
  // Start of the pairs of a slab, and its depth.
  const auto first_of = [&](Index g, Index s) {
    const auto pair = static_cast<std::uint32_t>(ceil_div(p.slabs[s], Index{2}));
    return std::lower_bound(interleaved[g].begin(), interleaved[g].end(), pair) -
           interleaved[g].begin();
  };
  const auto depth_of = [&](Index g, Index s) {
    return ceil_div(first_of(g, s + 1) - first_of(g, s), tile_feature_pairs);
  };
  Index steps = 0, tiles = 0;
  for (Index s = 0; s < p.slab_count(); ++s)
    for (Index g = 0; g < count; ++g) {
      steps += depth_of(g, s);
      tiles += depth_of(g, s) * p.tiles_of(g);
    }
  p.values = Array<std::uint16_t>::uninitialized_in_arena(tiles * tile_size);
  p.columns =
      Array<std::uint32_t>::uninitialized_in_arena(std::max<Index>(1, steps) * tile_feature_pairs);
  const std::uint16_t* value = p.values.data();
  const std::uint32_t* column = p.columns.data();
  for (Index s = 0; s < p.slab_count(); ++s)
    for (Index g = 0; g < count; ++g) {
      p.parts.push_back({value, column, p.tiles_of(g), depth_of(g, s)});
      value += depth_of(g, s) * p.tiles_of(g) * tile_size;
      column += depth_of(g, s) * tile_feature_pairs;
    }
  std::uint16_t* values = p.values.mutate();
  std::uint32_t* columns = p.columns.mutate();
  const PaddedMatrix matrix(a);
  parallel_for(p.slab_count() * count, 1, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      const Index s = i / count, g = i % count;
      const kernels::TileRows& part = p.parts[i];
      std::uint16_t* to = values + (part.values - p.values.data());
      std::uint32_t* lines = columns + (part.columns - p.columns.data());
      const std::uint32_t* own = interleaved[g].data() + first_of(g, s);
      const Index n = first_of(g, s + 1) - first_of(g, s);
      // Padding uses a column of the same rows, so that an infinity affects only these.
      for (Index j = 0; j < part.depth * tile_feature_pairs; ++j)
        lines[j] = static_cast<std::uint32_t>((own[std::min(j, n - 1)] - p.slabs[s] / 2) *
                                              panel_width * 4);
      for (Index d = 0; d < part.depth; ++d)
        for (Index r = 0; r < part.tiles * tile_rows; ++r)
          for (Index j = d * tile_feature_pairs; j < (d + 1) * tile_feature_pairs; ++j)
            for (Index k = 0; k < 2; ++k)
              *to++ = j < n ? matrix(p.group_rows[g] + r, 2 * Index{own[j]} + k) : std::uint16_t{0};
    }
  });
  return p;
}

Bf16Packed pack_bf16(const Tensor& a) {
  if (a.shape().size() != 2 || (a.dtype() != DType::F32 && a.dtype() != DType::BF16))
    fail_usage("product: the weight must be a matrix of F32 or BF16, got {} {}", name_of(a.dtype()),
               to_string(a.shape()));
  const Dense dense = a.to_dense();
  if (a.is<Dense>()) return pack_bf16_dense(dense);
  std::vector<std::vector<std::uint32_t>> single = tile_pairs_of(a.stored()), both;
  const Index tiles = std::ssize(single);
  std::vector<Index> rows, rows_of_both;
  // Cost in products of a tile with a step of pairs: rows of listed pairs are copied first, for 16
  // rows or for 32.
  Index of_single = 0, of_both = 0;
  for (Index t = 0; t < tiles; ++t) {
    rows.push_back(t * tile_rows);
    of_single += std::ssize(single[t]);
    if (t % 2) continue;
    rows_of_both.push_back(t * tile_rows);
    both.push_back(single[t]);
    if (t + 1 < tiles) {
      both.back().clear();
      std::set_union(single[t].begin(), single[t].end(), single[t + 1].begin(), single[t + 1].end(),
                     std::back_inserter(both.back()));
    }
    of_both += std::ssize(both.back()) * std::min<Index>(2, tiles - t);
  }
  rows.push_back(tiles * tile_rows);
  rows_of_both.push_back(tiles * tile_rows);
  constexpr double single_cost = 1.3, both_cost = 1, dense_cost = 0.67;
  const double for_single = single_cost * static_cast<double>(of_single);
  const double for_both = both_cost * static_cast<double>(of_both);
  const double for_all =
      dense_cost * static_cast<double>(tiles * ceil_div(dense.extents[1], Index{2}));
  if (for_all <= std::min(for_single, for_both)) return pack_bf16_dense(dense);
  if (for_both <= for_single) return pack_bf16_groups(dense, std::move(rows_of_both), both);
  return pack_bf16_groups(dense, std::move(rows), single);
}

}  // namespace sten
