// SPDX-License-Identifier: Apache-2.0
// Rows of a table by id (embedding), and the gradient: sums of rows by id. Invalid ids are never
// used as an index.
#pragma once
#include "kernels/block/each_element.h"
#include "kernels/block/elementwise/segments.h"
#include "kernels/block/row_functions.h"
#include "kernels/block/rows/fold.h"

namespace sten::kernels {

// The row for ids[i], or -1 if the id is invalid.
STEN_DEVICE inline std::int64_t row_named(const RowIds& r, std::int64_t i) {
  std::int64_t id = r.ids[i];
  if (r.wraps && id < 0) id += r.extent;
  return id >= 0 && id < r.extent ? id : -1;
}

// A block copies a few selected rows of one part of the table, or a segment of one row.
struct TakeRows {
  static constexpr int threads = 256, at_once = 1024;
  const std::uint32_t* table;
  RowIds r;
  std::uint32_t* out;

  STEN_HOST_DEVICE std::int64_t rows_each() const { return r.n < at_once ? at_once / r.n : 1; }
  STEN_HOST_DEVICE std::int64_t pieces() const { return (r.n + at_once - 1) / at_once; }
  STEN_HOST_DEVICE std::int64_t groups() const { return (r.count + rows_each() - 1) / rows_each(); }
  std::int64_t blocks() const { return r.n == 0 ? 0 : r.outer * groups() * pieces(); }
  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t block) const {
    const std::int64_t part = block / pieces(), column0 = (block - part * pieces()) * at_once;
    const std::int64_t outer = part / groups(), i0 = (part - outer * groups()) * rows_each();
    const std::int64_t left = r.count - i0, rows = left < rows_each() ? left : rows_each();
    const auto columns =
        static_cast<std::uint32_t>(r.n - column0 < at_once ? r.n - column0 : at_once);
    const auto count = static_cast<std::uint32_t>(rows) * columns;
    const bool counts = outer == 0 && column0 == 0;
    b.for_each_thread([&](int t) {
      for (auto e = static_cast<std::uint32_t>(t); e < count; e += threads) {
        const std::uint32_t i = e / columns, column = e - i * columns;
        const std::int64_t row = row_named(r, i0 + i), at = column0 + column;
        out[(outer * r.count + i0 + i) * r.n + at] =
            row < 0 ? ~0u : table[(outer * r.extent + row) * r.n + at];
        if (row < 0 && counts && column == 0) note_bad(b, r.bad);
      }
    });
  }
};

template <class Block>
STEN_DEVICE void count_row_use(Block& b, const RowIds& r, std::int64_t i, std::int32_t* uses) {
  const std::int64_t row = row_named(r, i);
  if (row < 0)
    note_bad(b, r.bad);
  else
    b.add_global(uses + row, 1);
}

// uses[row]: number of ids with this row; *bad: number of invalid ids.
struct CountRowUses {
  RowIds r;
  std::int32_t* uses;  // 0 before the launch

  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t i) const {
    count_row_use(b, r, i, uses);
  }
};

struct ClearRowUses {
  static constexpr int threads = 256, each = 4 * threads;
  std::int64_t n;
  std::int32_t* uses;

  std::int64_t blocks() const { return (n + each - 1) / each; }
  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t block) const {
    b.for_each_thread([&](int t) {
      for (std::int64_t i = block * each + t; i < (block + 1) * each && i < n; i += threads)
        uses[i] = 0;
    });
  }
};

// Exclusive scan: uses[row] becomes the sum of the counts before it, for row <= n.
struct ScanRowUses {
  static constexpr int threads = 1024;
  std::int64_t n;
  std::int32_t* uses;
  // Whether the single block also counts, which saves two kernels if there are few ids.
  bool counts;
  RowIds r;

  std::int64_t blocks() const { return 1; }
  std::size_t shared_bytes() const { return 2 * threads * sizeof(std::int32_t); }
  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t) const {
    if (counts) {
      b.for_each_thread([&](int t) { each_of(b, t, n, [&](std::int64_t i) { uses[i] = 0; }); });
      b.for_each_thread([&](int t) {
        each_of(b, t, r.count, [&](std::int64_t i) { count_row_use(b, r, i, uses); });
      });
    }
    const std::int64_t each = (n + threads - 1) / threads;
    const auto each_own = [&](int t, auto&& f) {
      for (std::int64_t i = t * each; i < (t + 1) * each && i < n; ++i) f(i);
    };
    auto before = b.template per_thread<std::int32_t>();
    const std::int32_t all = scan<std::int32_t>(
        b, b.template shared<std::int32_t>(2 * threads), before,
        [&](int t) {
          std::int32_t sum = 0;
          each_own(t, [&](std::int64_t i) { sum += uses[i]; });
          return sum;
        },
        threads_for(n, threads));
    b.for_each_thread([&](int t) {
      std::int32_t sum = before(t);
      each_own(t, [&](std::int64_t i) {
        const std::int32_t count = uses[i];
        uses[i] = sum;
        sum += count;
      });
      if (t == 0) uses[n] = all;
    });
  }
};

// offsets from first[row] on: the indices in ids of this row, in ascending order. A block handles
// as many rows as it has threads, and searches all ids; it skips groups of ids without any of its
// rows.
struct ScatterRowUses {
  static constexpr int threads = 128, group = 16, tile = 2048;
  RowIds r;
  const std::int32_t* first;
  std::int32_t* offsets;

  std::int64_t blocks() const { return (r.extent + threads - 1) / threads; }
  std::size_t shared_bytes() const {
    return tile * sizeof(std::int16_t) + tile / group * sizeof(std::int32_t);
  }
  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t block) const {
    auto own = b.template shared<std::int16_t>(tile);
    auto found = b.template shared<std::int32_t>(tile / group);
    auto next = b.template per_thread<std::int32_t>();
    const std::int64_t row0 = block * threads;
    b.for_each_thread([&](int t) { next(t) = row0 + t < r.extent ? first[row0 + t] : 0; });
    for (std::int64_t i0 = 0; i0 < r.count; i0 += tile) {
      const std::int64_t left = r.count - i0;
      const int count = left < tile ? static_cast<int>(left) : tile;
      const int groups = (count + group - 1) / group;
      b.for_each_thread([&](int t) {
        for (int g = t; g < groups; g += threads) found[g] = 0;
      });
      b.for_each_thread([&](int t) {
        for (int i = t; i < groups * group; i += threads) {
          const std::int64_t row = i < count ? row_named(r, i0 + i) - row0 : -1;
          const bool is_own = row >= 0 && row < threads;
          own[i] = static_cast<std::int16_t>(is_own ? row : -1);
          if (is_own) b.add(found, i / group, 1);
        }
      });
      b.for_each_thread([&](int t) {
        for (int g = 0; g < groups; ++g) {
          if (found[g] == 0) continue;
          for (int i = g * group; i < (g + 1) * group; ++i)
            if (own[i] == t) offsets[next(t)++] = static_cast<std::int32_t>(i0 + i);
        }
      });
    }
  }
};

// Sums the rows of dy by id. A block handles a few columns of a row; a row with many ids is summed
// by 8 threads per column.
struct SumRowUses {
  static constexpr int width = 32, height = 8, threads = width * height;
  const float* dy;
  RowIds r;
  const std::int32_t *first, *offsets;
  bool adds;
  std::int64_t columns;  // per block, a multiple of `width`
  float* table;

  STEN_HOST_DEVICE std::int64_t pieces() const { return (r.n + columns - 1) / columns; }
  std::int64_t blocks() const { return r.outer * r.extent * pieces(); }
  std::size_t shared_bytes() const { return threads * sizeof(double); }
  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t block) const {
    auto part = b.template shared<double>(threads);
    const std::int64_t at = block / pieces(), outer = at / r.extent, row = at - outer * r.extent;
    const std::int64_t begin = (block - at * pieces()) * columns;
    const std::int64_t end = begin + columns < r.n ? begin + columns : r.n;
    const std::int32_t *place = offsets + first[row], *last = offsets + first[row + 1];
    const float* from = dy + outer * r.count * r.n;
    float* to = table + at * r.n;
    const auto put = [&](std::int64_t column, float sum) {
      to[column] = adds ? to[column] + sum : sum;
    };
    if (place == last && adds) return;
    if (last - place <= height) {
      b.for_each_thread([&](int t) {
        for (std::int64_t column = begin + t; column < end; column += threads) {
          double sum = 0;
          for (const std::int32_t* p = place; p < last; ++p)
            sum += static_cast<double>(from[*p * r.n + column]);
          put(column, static_cast<float>(sum));
        }
      });
      return;
    }
    for (std::int64_t column0 = begin; column0 < end; column0 += width) {
      b.for_each_thread([&](int t) {
        const std::int64_t column = column0 + t % width;
        double sum = 0;
        if (column < end) {
          STEN_UNROLL(4)
          for (const std::int32_t* p = place + t / width; p < last; p += height)
            sum += static_cast<double>(from[*p * r.n + column]);
        }
        part[t] = sum;
      });
      for (int half = height / 2; half > 0; half /= 2)
        b.for_each_thread([&](int t) {
          if (t < half * width) part[t] = part[t] + part[t + half * width];
        });
      b.for_each_thread([&](int t) {
        if (t < width && column0 + t < end) put(column0 + t, static_cast<float>(part[t]));
      });
    }
  }
};

template <class Grid>
struct TakeRowsOn {
  static void take_rows(const void* table, const RowIds& r, void* out, Stream stream) {
    Grid(stream).launch(
        TakeRows{static_cast<const std::uint32_t*>(table), r, static_cast<std::uint32_t*>(out)});
  }
  static void sum_rows_by_id(const float* dy, const RowIds& r, bool adds, float* table,
                             Stream stream) {
    Grid grid(stream);
    constexpr std::int64_t small_count = 16 * ScanRowUses::threads;
    auto* first = grid.template scratch<std::int32_t>(r.extent + 1 + r.count);
    auto* offsets = first + r.extent + 1;
    if (r.count > small_count) {
      grid.launch(ClearRowUses{r.extent, first});
      launch_threads<256>(grid, r.count, CountRowUses{r, first});
    }
    grid.launch(ScanRowUses{r.extent, first, r.count <= small_count, r});
    grid.launch(ScatterRowUses{r, first, offsets});
    // Small tables are divided among more blocks.
    constexpr std::int64_t enough = 4096, width = SumRowUses::width;
    const std::int64_t tiles = (r.n + width - 1) / width, rows = r.outer * r.extent;
    const std::int64_t wanted = rows > 0 ? (enough + rows - 1) / rows : 1;
    const std::int64_t pieces = wanted < tiles ? wanted : tiles;
    if (pieces == 0) return;
    const std::int64_t columns = (tiles + pieces - 1) / pieces * width;
    grid.launch(SumRowUses{dy, r, first, offsets, adds, columns, table});
  }
};

}  // namespace sten::kernels
