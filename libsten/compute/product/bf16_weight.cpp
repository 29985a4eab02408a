// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "kernels/interleaved.h"
#include "libsten/compute/product/bf16_small_batch.h"
#include "libsten/compute/product/rounded_values.h"
#include "libsten/core/base/error.h"
#include "libsten/core/base/floats.h"
#include "libsten/core/base/parallel.h"
#include "libsten/core/layout/compressed.h"
#include "libsten/core/registry/route.h"

namespace sten {
namespace {

using kernels::bf16_block_groups, kernels::bf16_block_rows, kernels::bf16_mask_bytes,
    kernels::bf16_masked_bytes, kernels::bf16_step_bytes, kernels::bf16_step_values,
    kernels::bf16_tile_columns, kernels::bf16_tile_rows, kernels::bf16_tile_size,
    kernels::bf16_window;
using kernels::bf16_far_window, kernels::bf16_narrow_window, kernels::bf16_column_bytes;

void check_bf16_weight(const Tensor& a) {
  const DType dtype = a.dtype();
  if (a.shape().size() != 2 || a.spec().has("dims"))
    fail_unsupported("bfloat16 product: the weight must be a matrix, got {} {}", a.layout(),
                     to_string(a.shape()));
  if (dtype != DType::F32 && dtype != DType::BF16 && dtype != DType::F16)
    fail_unsupported("bfloat16 product: the weight must be F32, BF16 or F16, got {}",
                     name_of(dtype));
}

// Entries of rows of a csr matrix.
struct CsrRowsOf {
  Index rows, cols;
  const std::int64_t* ptr;
  const std::int32_t* index;
  RoundedValues values;

  explicit CsrRowsOf(const Csr& a)
      : rows(a.extents[0]),
        cols(a.extents[1]),
        ptr(a.ptr.data()),
        index(a.index.data()),
        values(a.values) {}
};

// Calls f(column of tiles, row of the group, begin, end) with the entries of each row of a group in
// each column of tiles, in the order of the stream.
template <class F>
void each_tile_row(const CsrRowsOf& a, Index first_row, Index groups, Index tile_columns, F&& f) {
  std::int64_t next[bf16_block_rows];
  const Index rows = std::min(a.rows - first_row, groups * bf16_tile_rows);
  for (Index r = 0; r < rows; ++r) next[r] = a.ptr[first_row + r];
  for (Index k = 0; k < tile_columns; ++k)
    for (Index g = 0; g < groups; ++g)
      for (Index r = 0; r < bf16_tile_rows; ++r) {
        const Index row = g * bf16_tile_rows + r;
        if (row >= rows) {
          f(k, r, Index{0}, Index{0});
          continue;
        }
        const std::int64_t begin = next[row], end = a.ptr[first_row + row + 1];
        std::int64_t& to = next[row];
        while (to < end && a.index[to] < (k + 1) * bf16_tile_columns) ++to;
        f(k, r, Index{begin}, Index{to});
      }
}

void write_masked(const CsrRowsOf& a, Index first_row, Index groups, Index tile_columns,
                  std::uint8_t* to) {
  std::uint16_t words[bf16_tile_columns];
  std::uint8_t* value = to;
  each_tile_row(a, first_row, groups, tile_columns, [&](Index k, Index r, Index begin, Index end) {
    if (r == 0) {
      std::fill_n(words, bf16_tile_columns, std::uint16_t{0});
      value = to + bf16_masked_bytes;
    }
    for (Index i = begin; i < end; ++i, value += 2) {
      words[a.index[i] - k * bf16_tile_columns] |= static_cast<std::uint16_t>(0x8000u >> r);
      const std::uint16_t bits = a.values[i];
      std::memcpy(value, &bits, sizeof bits);
    }
    to[bf16_mask_bytes + r] = static_cast<std::uint8_t>(2 * (end - begin));
    if (r + 1 < bf16_tile_rows) return;
    std::memcpy(to, words, sizeof words);
    to = value;
  });
}

Bf16WeightRows pack_rows(const Tensor& a) {
  check_bf16_weight(a);
  const bool dense = a.is<Dense>();
  const Tensor entries = dense ? a : convert(a, Spec(Csr::name));
  Bf16WeightRows out;
  out.rows = a.shape()[0], out.cols = a.shape()[1];
  const Index all = ceil_div(out.rows, bf16_tile_rows) * bf16_tile_rows, columns = out.columns();
  out.values = Array<std::uint16_t>::uninitialized_in_arena(all * columns);
  std::uint16_t* const to = out.values.mutate();
  const auto pack = [&](auto&& write) {
    parallel_for(all, bf16_tile_rows, [&](Index begin, Index end) {
      std::fill(to + begin * columns, to + end * columns, std::uint16_t{0});
      for (Index r = begin; r < std::min(end, out.rows); ++r) write(r, to + r * columns);
    });
  };
  if (dense) {
    const RoundedValues values(a.as<Dense>().values);
    pack([&](Index r, std::uint16_t* row) { values.copy(r * out.cols, out.cols, row); });
  } else {
    const CsrRowsOf rows(entries.as<Csr>());
    pack([&](Index r, std::uint16_t* row) {
      for (Index i = rows.ptr[r]; i < rows.ptr[r + 1]; ++i) row[rows.index[i]] = rows.values[i];
    });
  }
  return out;
}

void write_dense(const CsrRowsOf& a, Index first_row, Index groups, Index tile_columns,
                 std::uint16_t* to) {
  std::fill_n(to, groups * tile_columns * bf16_tile_size, std::uint16_t{0});
  each_tile_row(a, first_row, groups, tile_columns, [&](Index k, Index, Index begin, Index end) {
    for (Index i = begin; i < end; ++i) to[a.index[i] - k * bf16_tile_columns] = a.values[i];
    to += bf16_tile_columns;
  });
}

void write_dense(const Dense& a, Index first_row, Index groups, Index tile_columns,
                 std::uint16_t* to) {
  const RoundedValues values(a.values);
  const Index cols = a.extents[1];
  for (Index k = 0; k < tile_columns; ++k) {
    const Index first = k * bf16_tile_columns, count = std::min(bf16_tile_columns, cols - first);
    for (Index r = 0; r < groups * bf16_tile_rows; ++r, to += bf16_tile_columns) {
      std::fill_n(to, bf16_tile_columns, std::uint16_t{0});
      const Index row = first_row + r;
      for (Index j = 0; row < a.extents[0] && j < count; ++j)
        to[j] = values[row * cols + first + j];
    }
  }
}

Bf16WeightTiles pack_tiles(const Tensor& a) {
  check_bf16_weight(a);
  const bool dense = a.is<Dense>();
  const Tensor entries = dense ? a : convert(a, Spec(Csr::name));
  Bf16WeightTiles out;
  out.rows = a.shape()[0], out.cols = a.shape()[1];
  const Index blocks = ceil_div(out.rows, bf16_block_rows),
              columns = ceil_div(out.cols, tile_features);
  out.is_masked = !dense && bf16_density(a) < bf16_least_dense();
  out.first.assign(blocks + 1, 0);
  for (Index b = 0; b < blocks; ++b) {
    const Index tiles = columns * out.groups_of(b);
    Index bytes = tiles * bf16_tile_size * 2;
    if (out.is_masked) {
      const auto& ptr = entries.as<Csr>().ptr;
      const Index end = std::min(out.rows, (b + 1) * bf16_block_rows);
      bytes = tiles * bf16_masked_bytes + 2 * (ptr[end] - ptr[b * bf16_block_rows]);
    }
    out.first[b + 1] = out.first[b] + bytes;
  }
  out.stream = Array<std::uint8_t>::uninitialized_in_arena(out.first[blocks]);
  std::uint8_t* const stream = out.stream.mutate();
  parallel_for(blocks, 1, [&](Index begin, Index end) {
    for (Index b = begin; b < end; ++b) {
      std::uint8_t* const to = stream + out.first[b];
      auto* const values = reinterpret_cast<std::uint16_t*>(to);
      const Index row = b * bf16_block_rows, groups = out.groups_of(b);
      if (dense)
        write_dense(a.as<Dense>(), row, groups, columns, values);
      else if (out.is_masked)
        write_masked(CsrRowsOf(entries.as<Csr>()), row, groups, columns, to);
      else
        write_dense(CsrRowsOf(entries.as<Csr>()), row, groups, columns, values);
    }
  });
  return out;
}

struct LaneSteps {
  std::vector<std::uint16_t> advance;
  std::vector<std::uint8_t> bytes;
};

// A window starts at the first value that no step has yet; rows whose next value is beyond the
// window wait.
LaneSteps steps_of(const CsrRowsOf& a, Index first_row, Index columns) {
  constexpr Index lanes = bf16_tile_rows, most_advance = 0xffff;
  const bool narrow = columns == bf16_narrow_window;
  const Index size = bf16_step_bytes(narrow), column_bytes = bf16_column_bytes(narrow);
  const Index rows = std::min(lanes, a.rows - first_row);
  std::int64_t next[lanes];
  for (Index r = 0; r < rows; ++r) next[r] = a.ptr[first_row + r];
  LaneSteps out;
  Index window = 0;
  for (;;) {
    Index first = a.cols;
    for (Index r = 0; r < rows; ++r)
      if (next[r] < a.ptr[first_row + r + 1]) first = std::min<Index>(first, a.index[next[r]]);
    if (first == a.cols) return out;
    const Index advance = std::min(most_advance, first - window);
    window += advance;
    out.advance.push_back(static_cast<std::uint16_t>(advance));
    out.bytes.resize(out.bytes.size() + size);
    std::uint8_t* const step = out.bytes.data() + out.bytes.size() - size;
    for (Index i = 0; i < 2 * rows; ++i) {
      std::int64_t& at = next[i / 2];
      if (at == a.ptr[first_row + i / 2 + 1] || a.index[at] >= window + columns) continue;
      const auto place = static_cast<std::uint8_t>(a.index[at] - window);
      if (narrow)
        step[i / 2] |= static_cast<std::uint8_t>(place << 4 * (i % 2));
      else
        step[i] = place;
      const std::uint16_t value = a.values[at++];
      std::memcpy(step + column_bytes + 2 * i, &value, sizeof value);
    }
  }
}

Bf16WeightLanes pack_lanes(const CsrRowsOf& rows, Index window) {
  Bf16WeightLanes out;
  out.rows = rows.rows, out.cols = rows.cols;
  out.is_narrow = window == bf16_narrow_window;
  const Index groups = ceil_div(out.rows, bf16_tile_rows);
  std::vector<LaneSteps> all(groups);
  parallel_for(groups, 1, [&](Index begin, Index end) {
    for (Index g = begin; g < end; ++g) all[g] = steps_of(rows, g * bf16_tile_rows, window);
  });
  out.first.assign(groups + 1, 0);
  for (Index g = 0; g < groups; ++g) out.first[g + 1] = out.first[g] + std::ssize(all[g].advance);
  out.advance = Array<std::uint16_t>::uninitialized_in_arena(out.first[groups]);
  out.steps = Array<std::uint8_t>::uninitialized_in_arena(out.first[groups] *
                                                          bf16_step_bytes(out.is_narrow));
  std::uint16_t* advance = out.advance.mutate();
  std::uint8_t* bytes = out.steps.mutate();
  for (const LaneSteps& steps : all) {
    advance = std::ranges::copy(steps.advance, advance).out;
    bytes = std::ranges::copy(steps.bytes, bytes).out;
  }
  return out;
}

// Chooses narrow windows if rows have about equally many values in all windows, as in n:m:g with
// small m.
Bf16WeightLanes pack_lanes(const Tensor& a, bool far) {
  check_bf16_weight(a);
  const Tensor entries = convert(a, Spec(Csr::name));
  const CsrRowsOf rows(entries.as<Csr>());
  Bf16WeightLanes wide = pack_lanes(rows, far ? bf16_far_window : bf16_window);
  if (bf16_density(a) < 1.0 / bf16_narrow_window) return wide;
  Bf16WeightLanes narrow = pack_lanes(rows, bf16_narrow_window);
  // Narrow lanes need fewer instructions per lookup. The time of `far` products is proportional to
  // steps, that of others to bytes.
  const bool takes_narrow = far ? 20 * narrow.advance.size() <= 21 * wide.advance.size()
                                : 20 * narrow.steps.size() <= 21 * wide.steps.size();
  return takes_narrow ? std::move(narrow) : std::move(wide);
}

}  // namespace

double bf16_least_dense() {
  // Without AMX tiles, the alternative is lanes, with 3 bytes per value.
  return kernels::active_isa() >= kernels::Isa::amx ? 0.9 : 0.6;
}

double bf16_density(const Tensor& a) {
  struct Density {
    double is;
  };
  return a.derived()
      .get<Density>([&] {
        check_bf16_weight(a);
        if (a.is<Dense>()) return Density{1};
        const Tensor entries = convert(a, Spec(Csr::name));
        const Csr& rows = entries.as<Csr>();
        const Index all = rows.extents[0] * rows.extents[1];
        return Density{static_cast<double>(rows.values.size()) /
                       static_cast<double>(std::max<Index>(all, 1))};
      })
      ->is;
}

std::shared_ptr<const Bf16WeightRows> bf16_weight_rows(const Tensor& a) {
  return a.derived().get<Bf16WeightRows>([&] { return pack_rows(a); });
}

std::shared_ptr<const Bf16WeightTiles> bf16_weight_tiles(const Tensor& a) {
  return a.derived().get<Bf16WeightTiles>([&] { return pack_tiles(a); });
}

std::shared_ptr<const Bf16WeightLanes> bf16_weight_lanes(const Tensor& a, bool far) {
  struct Far {
    Bf16WeightLanes is;
  };
  if (!far) return a.derived().get<Bf16WeightLanes>([&] { return pack_lanes(a, false); });
  const auto made = a.derived().get<Far>([&] { return Far{pack_lanes(a, true)}; });
  return {made, &made->is};
}

}  // namespace sten
