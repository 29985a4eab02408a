// SPDX-License-Identifier: Apache-2.0
// Products on AMX tiles. The sums of two tiles of rows by two tiles of tokens are in tile
// registers, so each tile of A and of x is loaded for two products. Rows of pairs that are not
// contiguous are first copied to a ring buffer in L1, two steps ahead, because tiles cannot be
// loaded from pending stores.
//
// Instructions are inline assembly, because the intrinsics of g++ 12 for tiles do not declare the
// memory that they read.
#define STEN_TARGET STEN_AMX
#include <immintrin.h>

#include <type_traits>

#include "kernels/simd/each.h"
#include "kernels/simd/target.h"
#include "kernels/simd/tile_registers.h"
#include "kernels/tiles.h"

STEN_TARGET_BEGIN
namespace sten::kernels::amx {
namespace {

// A tile store is fast if another one happened within the last half microsecond; otherwise it takes
// a thousand cycles more. Long sums therefore store a tile now and then, to the memory of their
// result.
constexpr std::int64_t awake_steps = 8;

// Iterates over the blocks of consecutive TileRows of one kind: 16 * tiles rows by 32 tokens, or 16
// rows by 64; a narrow panel has one block of 16 tokens.
template <int tiles, bool wide>
struct Blocks {
  static constexpr std::int64_t lanes = wide ? panel_width : narrow_panel_width;
  static constexpr std::int64_t halves = wide && tiles == 2 ? 2 : 1;   // per panel
  static constexpr int width = static_cast<int>(lanes / 16 / halves);  // tiles of tokens

  const TileRows* a;
  const TileRows* end;
  const TilePanels* panels;
  std::int64_t panel = 0, half = 0;

  bool at_end() const { return a == end; }
  const std::uint16_t* x() const { return panels->x + panel * panels->x_step + half * 64; }
  void next() {
    if (++half < halves) return;
    half = 0;
    if (++panel < panels->count) return;
    panel = 0;
    ++a;
  }
};

// Rows of pairs listed in `columns`, copied a few steps before they are multiplied, across the
// boundaries of blocks.
template <int tiles, bool wide>
class Ring {
  using Of = Blocks<tiles, wide>;
  std::uint16_t* lines_;
  Of at_;
  std::int64_t step_ = 0, depth_ = 0;
  const std::uint32_t* columns_ = nullptr;
  const char* x_ = nullptr;
  unsigned to_ = 0, from_ = 0;

  void begin() {
    for (; !at_.at_end() && at_.a->depth == 0; at_.next()) {
    }
    if (at_.at_end()) return;
    step_ = 0, depth_ = at_.a->depth;
    columns_ = at_.a->columns;
    x_ = reinterpret_cast<const char*>(at_.x());
  }

 public:
  static constexpr std::int64_t ahead = 2;
  static constexpr int slots = 3, slot_size = Of::width * 512;

  // lines: kept outside of the object, so that the compiler holds the rest in registers; as small
  // as possible, to stay in L1.
  Ring(const Of& first, std::uint16_t* lines) : lines_(lines), at_(first) {
    begin();
    for (std::int64_t i = 0; i < ahead; ++i) {
      copy<0, 16>();
      step();
    }
  }
  bool copies() const { return !at_.at_end(); }
  template <int from, int count>
  void copy() {
    if (!copies()) return;
    std::uint16_t* to = lines_ + to_ * slot_size + from * 32;
    const std::uint32_t* columns = columns_ + from;
    const char* x = x_;
    simd::each<count>([&](auto i) {
      const char* line = x + (wide ? columns[i] : columns[i] / 4);
      __m512i tokens[Of::width];
      simd::each<Of::width>([&](auto t) { tokens[t] = _mm512_load_si512(line + t * 64); });
      simd::each<Of::width>([&](auto t) { _mm512_store_si512(to + t * 512 + i * 32, tokens[t]); });
    });
  }
  void step() {
    to_ = (to_ + 1) % slots;
    if (!copies()) return;
    columns_ += tile_feature_pairs;
    if (++step_ < depth_) return;
    at_.next();
    begin();
  }
  // Returns the operand of the next step.
  const std::uint16_t* take() {
    const std::uint16_t* lines = lines_ + from_ * slot_size;
    from_ = (from_ + 1) % slots;
    return lines;
  }
};
// Contiguous rows of pairs, read in place.
template <int tiles, bool wide>
struct DirectTiles {
  static constexpr int slots = 0, slot_size = 0;
  DirectTiles(const Blocks<tiles, wide>&, std::uint16_t*) {}
};

// Passes blocks of sums to a taker while the next block is multiplied, with two alternating
// buffers.
template <int tiles, bool wide>
class Taken {
  using Of = Blocks<tiles, wide>;
  static constexpr std::int64_t rows = tiles * tile_rows, tokens = 16 * Of::width;
  float* place_;
  const TileTaker& taker_;
  Of of_;
  std::int64_t row_ = 0, other_ = rows * tokens;
  std::int64_t part_ = tile_parts, share_ = 0, steps_ = 1;

 public:
  static constexpr std::int64_t size = rows * tokens;  // floats of one of the two buffers
  static constexpr std::int64_t stride = tokens * 4;   // in bytes

  Taken(const TileTaker& taker, float* sum_buffer, const Of& first)
      : place_(sum_buffer), taker_(taker), of_(first) {}
  float* place() const { return place_; }
  // A block has been stored in place(). `steps`: number of steps of the next block.
  void stored(const Of& at, std::int64_t row, std::int64_t steps) {
    of_ = at;
    row_ = row;
    place_ += other_;
    other_ = -other_;
    part_ = 0;
    // None at the first step, because tile stores take a while to complete.
    steps_ = steps > 1 ? steps - 1 : 1;
    share_ = steps > 1 ? -tile_parts : 0;
  }
  void after_step() {
    if (part_ == tile_parts) return;
    for (share_ += tile_parts; share_ >= steps_ && part_ < tile_parts; share_ -= steps_) take();
  }
  void rest() {
    while (part_ < tile_parts) take();
  }

 private:
  void take() {
    const TileBlock block{place_ + other_, row_, rows, of_.panel, of_.half * tokens, tokens};
    taker_.take(taker_.self, block, part_++);
  }
};
template <int tiles, bool wide>
struct InMemory {
  static constexpr std::int64_t size = 0;
  static constexpr std::int64_t stride = Blocks<tiles, wide>::lanes * 4;
};

// `count` entries of one kind, whose sums start at `row`. taker: for `taken`, else nullptr.
template <int tiles, bool wide, bool gathers, bool taken>
void multiply(const TileRows* rows, std::int64_t count, const TilePanels& panels, bool more,
              std::int64_t row, const TileTaker* taker) {
  using Of = Blocks<tiles, wide>;
  using Sums = std::conditional_t<taken, Taken<tiles, wide>, InMemory<tiles, wide>>;
  constexpr std::int64_t lanes = Of::lanes, c_stride = Sums::stride;
  constexpr std::int64_t x_stride = gathers ? 64 : lanes * 4;
  constexpr std::int64_t tile = gathers ? 512 : 32;  // distance of tiles of tokens
  const Of first{rows, rows + count, &panels};
  using TileBuffer = std::conditional_t<gathers, Ring<tiles, wide>, DirectTiles<tiles, wide>>;
  alignas(64) std::uint16_t lines[TileBuffer::slots * TileBuffer::slot_size + 32];
  TileBuffer ring(first, lines);
  alignas(64) float sum_buffer[2 * Sums::size + 16];
  auto sums = [&] {
    if constexpr (taken)
      return Sums(*taker, sum_buffer, first);
    else
      return Sums();
  }();
  std::int64_t since = 0;
  const std::int64_t passes = panels.count * Of::halves;
  // Each step prefetches a share of the values of the next rows.
  const std::int64_t ahead = (16 * tiles + passes - 1) / passes;
  const char* next = nullptr;
  for (Of at = first; !at.at_end(); at.next()) {
    const TileRows& a = *at.a;
    if (at.panel == 0 && at.half == 0)
      next = reinterpret_cast<const char*>(a.values + a.depth * tiles * tile_size);
    const std::int64_t first_row = row + (at.a - rows) * tiles * tile_rows;
    float* c;
    if constexpr (taken)
      c = sums.place();
    else
      c = panels.c + at.panel * panels.c_step + at.half * 32 + first_row * lanes;
    float* below = tiles == 2 ? c + tile_rows * c_stride / 4 : c + 32;
    if (more) {
      STEN_TILE_LOAD(0, c, c_stride);
      if constexpr (wide) STEN_TILE_LOAD(1, c + 16, c_stride);
      if constexpr (tiles == 2 || wide) STEN_TILE_LOAD(2, below, c_stride);
      if constexpr (wide) STEN_TILE_LOAD(3, below + 16, c_stride);
    } else {
      STEN_TILE_ZERO(0);
      STEN_TILE_ZERO(1);
      STEN_TILE_ZERO(2);
      STEN_TILE_ZERO(3);
    }
    const std::uint16_t* values = a.values;
    const std::uint16_t* line = gathers ? nullptr : at.x();
    for (std::int64_t step = 0; step < a.depth; ++step, values += tiles * tile_size) {
      if constexpr (gathers) line = ring.take();
      for (std::int64_t i = 0; i < ahead; ++i, next += 64) _mm_prefetch(next, _MM_HINT_T1);
      STEN_TILE_LOAD(4, values, 64);
      if constexpr (tiles == 2) {
        STEN_TILE_LOAD(6, line, x_stride);
        STEN_TILE_MULTIPLY(0, 4, 6);
        if constexpr (gathers) ring.template copy<0, 8>();
        if constexpr (wide) {
          STEN_TILE_LOAD(7, line + tile, x_stride);
          STEN_TILE_MULTIPLY(1, 4, 7);
        }
        STEN_TILE_LOAD(5, values + tile_size, 64);
        STEN_TILE_MULTIPLY(2, 5, 6);
        if constexpr (gathers) ring.template copy<8, 8>();
        if constexpr (wide) STEN_TILE_MULTIPLY(3, 5, 7);
      } else {
        STEN_TILE_LOAD(5, line, x_stride);
        STEN_TILE_MULTIPLY(0, 4, 5);
        if constexpr (gathers) ring.template copy<0, 4>();
        if constexpr (wide) {
          STEN_TILE_LOAD(6, line + tile, x_stride);
          STEN_TILE_MULTIPLY(1, 4, 6);
        }
        if constexpr (gathers) ring.template copy<4, 4>();
        if constexpr (wide) {
          STEN_TILE_LOAD(7, line + 2 * tile, x_stride);
          STEN_TILE_MULTIPLY(2, 4, 7);
        }
        if constexpr (gathers) ring.template copy<8, 4>();
        if constexpr (wide) {
          STEN_TILE_LOAD(5, line + 3 * tile, x_stride);
          STEN_TILE_MULTIPLY(3, 4, 5);
        }
        if constexpr (gathers) ring.template copy<12, 4>();
      }
      if constexpr (gathers)
        ring.step();
      else
        line += tile_feature_pairs * lanes * 2;
      if (++since == awake_steps) {
        since = 0;
        STEN_TILE_STORE(4, c, c_stride);
      }
      if constexpr (taken) sums.after_step();
    }
    since = 0;
    if constexpr (taken) sums.rest();
    STEN_TILE_STORE(0, c, c_stride);
    if constexpr (wide) STEN_TILE_STORE(1, c + 16, c_stride);
    if constexpr (tiles == 2 || wide) STEN_TILE_STORE(2, below, c_stride);
    if constexpr (wide) STEN_TILE_STORE(3, below + 16, c_stride);
    if constexpr (taken) {
      Of after = at;
      after.next();
      sums.stored(at, first_row, after.at_end() ? 1 : after.a->depth);
    }
  }
  if constexpr (taken) sums.rest();
}

template <bool wide, bool taken>
void run_all(const TileRows* rows, std::int64_t count, const TilePanels& panels, bool more,
             const TileTaker* taker) {
  const simd::WholeTiles tiles;
  std::int64_t row = 0;
  for (const TileRows *a = rows, *end = rows + count; a < end;) {
    const TileRows* until = a + 1;
    while (until < end && until->tiles == a->tiles && !until->columns == !a->columns) ++until;
    const auto run_of = a->tiles == 2 ? a->columns ? multiply<2, wide, true, taken>
                                                   : multiply<2, wide, false, taken>
                        : a->columns ? multiply<1, wide, true, taken>
                                      : multiply<1, wide, false, taken>;
    run_of(a, until - a, panels, more, row, taker);
    row += (until - a) * a->tiles * tile_rows;
    a = until;
  }
}
template <bool wide>
void run(const TileRows* rows, std::int64_t count, const TilePanels& panels, bool more) {
  run_all<wide, false>(rows, count, panels, more, nullptr);
}
template <bool wide>
void each(const TileRows* rows, std::int64_t count, const TilePanels& panels,
          const TileTaker& taker) {
  run_all<wide, true>(rows, count, panels, false, &taker);
}

}  // namespace
}  // namespace sten::kernels::amx
STEN_TARGET_END

namespace sten::kernels {

const TilesTable* tiles_amx() {
  static constexpr TilesTable table{{amx::run<false>, amx::run<true>},
                                    {amx::each<false>, amx::each<true>}};
  return &table;
}

}  // namespace sten::kernels
