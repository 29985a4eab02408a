// Tiles of AMX. Two tiles of rows times two of tokens have their sums in tiles: each tile of A and of
// x is loaded for two products. Rows of pairs that do not follow each other are copied first, into a
// ring in the first cache, two steps ahead: tiles are not loaded from stores that are under way.
//
// Instructions are written out: the intrinsics of g++ 12 for tiles do not say what memory they read.
#define STEN_TARGET STEN_AMX
#include <immintrin.h>

#include <algorithm>

#include "kernels/simd/target.h"
#include "kernels/simd/tiles.h"

STEN_TARGET_BEGIN
namespace sten::kernels::amx {
namespace {

// Tiles 0 to 3 are sums, 4 and 5 of A, 6 and 7 of x; all of 16 rows of 64 bytes.
struct alignas(64) Config {
  std::uint8_t palette = 1, start_row = 0, reserved[14]{};
  std::uint16_t row_bytes[16]{64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16]{16, 16, 16, 16, 16, 16, 16, 16};
};
constexpr Config config;

#define STEN_TILE_LOAD(tile, at, stride) \
  asm volatile("tileloadd (%0,%1,1), %%tmm" #tile ::"r"(at), "r"(std::int64_t{stride}) : "memory")
#define STEN_TILE_STORE(tile, at, stride)                                                  \
  asm volatile("tilestored %%tmm" #tile ", (%0,%1,1)" ::"r"(at), "r"(std::int64_t{stride}) \
               : "memory")
#define STEN_TILE_ZERO(tile) asm volatile("tilezero %%tmm" #tile ::)
#define STEN_TILE_PRODUCT(sum, a, x) \
  asm volatile("tdpbf16ps %%tmm" #x ", %%tmm" #a ", %%tmm" #sum ::)

// Of one panel, tokens 32 j to 32 j + 31, or a narrow panel: `wide` says whether there is a second
// tile of tokens.
template <bool wide>
struct Ring {
  static constexpr int slots = 4, slot_size = wide ? 1024 : 512;
  alignas(64) std::uint16_t lines[slots * slot_size];

  std::uint16_t* slot(std::int64_t step) { return lines + step % slots * slot_size; }
  // Half of the rows of pairs of a step.
  template <int from>
  void copy(const TileRows& a, std::int64_t step, const std::uint16_t* x) {
    const std::uint32_t* columns = a.columns + step * tile_pairs + from;
    std::uint16_t* to = slot(step) + from * 32;
    for (int i = 0; i < 8; ++i) {
      const char* line = reinterpret_cast<const char*>(x) + (wide ? columns[i] : columns[i] / 4);
      const __m512i first = _mm512_load_si512(line);
      if constexpr (wide) _mm512_store_si512(to + 512 + i * 32, _mm512_load_si512(line + 64));
      _mm512_store_si512(to + i * 32, first);
    }
  }
};

// Sums of 16 * tiles rows and one or two tiles of tokens.
template <int tiles, bool wide, bool gathers>
inline void multiply(const TileRows& a, const std::uint16_t* x, bool more, float* c,
                     const char* next, std::int64_t ahead) {
  constexpr std::int64_t lanes = wide ? panel_width : few_width, c_stride = lanes * 4;
  constexpr std::int64_t x_stride = gathers ? 64 : lanes * 4;
  float* below = c + tile_rows * lanes;
  if (more) {
    STEN_TILE_LOAD(0, c, c_stride);
    if constexpr (wide) STEN_TILE_LOAD(1, c + 16, c_stride);
    if constexpr (tiles == 2) STEN_TILE_LOAD(2, below, c_stride);
    if constexpr (tiles == 2 && wide) STEN_TILE_LOAD(3, below + 16, c_stride);
  } else {
    STEN_TILE_ZERO(0);
    STEN_TILE_ZERO(1);
    STEN_TILE_ZERO(2);
    STEN_TILE_ZERO(3);
  }
  [[maybe_unused]] Ring<wide> ring;
  if constexpr (gathers)
    for (std::int64_t step = 0; step < std::min<std::int64_t>(2, a.depth); ++step) {
      ring.template copy<0>(a, step, x);
      ring.template copy<8>(a, step, x);
    }
  const std::uint16_t* values = a.values;
  for (std::int64_t step = 0; step < a.depth; ++step, values += tiles * tile_size) {
    const bool copies = gathers && step + 2 < a.depth;
    const std::uint16_t* line;
    if constexpr (gathers)
      line = ring.slot(step);
    else
      line = x + step * tile_pairs * lanes * 2;
    for (std::int64_t i = 0; i < ahead; ++i, next += 64) _mm_prefetch(next, _MM_HINT_T1);
    STEN_TILE_LOAD(4, values, 64);
    STEN_TILE_LOAD(6, line, x_stride);
    STEN_TILE_PRODUCT(0, 4, 6);
    if constexpr (gathers)
      if (copies) ring.template copy<0>(a, step + 2, x);
    if constexpr (wide) {
      STEN_TILE_LOAD(7, line + (gathers ? 512 : 32), x_stride);
      STEN_TILE_PRODUCT(1, 4, 7);
    }
    if constexpr (tiles == 2) {
      STEN_TILE_LOAD(5, values + tile_size, 64);
      STEN_TILE_PRODUCT(2, 5, 6);
    }
    if constexpr (gathers)
      if (copies) ring.template copy<8>(a, step + 2, x);
    if constexpr (tiles == 2 && wide) STEN_TILE_PRODUCT(3, 5, 7);
  }
  STEN_TILE_STORE(0, c, c_stride);
  if constexpr (wide) STEN_TILE_STORE(1, c + 16, c_stride);
  if constexpr (tiles == 2) STEN_TILE_STORE(2, below, c_stride);
  if constexpr (tiles == 2 && wide) STEN_TILE_STORE(3, below + 16, c_stride);
}

// Sums of 16 rows and all four tiles of tokens of a panel: A's tile is loaded once for these.
template <bool gathers>
inline void multiply_one(const TileRows& a, const std::uint16_t* x, bool more, float* c,
                         const char* next, std::int64_t ahead) {
  constexpr std::int64_t c_stride = panel_width * 4, x_stride = gathers ? 64 : panel_width * 4;
  constexpr std::int64_t tile = gathers ? 512 : 32;  // from one tile of tokens to the next
  if (more) {
    STEN_TILE_LOAD(0, c, c_stride);
    STEN_TILE_LOAD(1, c + 16, c_stride);
    STEN_TILE_LOAD(2, c + 32, c_stride);
    STEN_TILE_LOAD(3, c + 48, c_stride);
  } else {
    STEN_TILE_ZERO(0);
    STEN_TILE_ZERO(1);
    STEN_TILE_ZERO(2);
    STEN_TILE_ZERO(3);
  }
  constexpr int slots = 4, slot_size = 2048;
  alignas(64) std::uint16_t ring[gathers ? slots * slot_size : 32];
  const auto copy = [&](std::int64_t step, int from, int count) {
    const std::uint32_t* columns = a.columns + step * tile_pairs;
    std::uint16_t* to = ring + step % slots * slot_size;
    for (int i = from; i < from + count; ++i) {
      const char* line = reinterpret_cast<const char*>(x) + columns[i];
      for (int t = 0; t < 4; ++t)
        _mm512_store_si512(to + t * 512 + i * 32, _mm512_load_si512(line + t * 64));
    }
  };
  if constexpr (gathers)
    for (std::int64_t step = 0; step < std::min<std::int64_t>(2, a.depth); ++step)
      copy(step, 0, 16);
  const std::uint16_t* values = a.values;
  for (std::int64_t step = 0; step < a.depth; ++step, values += tile_size) {
    const bool copies = gathers && step + 2 < a.depth;
    const std::uint16_t* line;
    if constexpr (gathers)
      line = ring + step % slots * slot_size;
    else
      line = x + step * tile_pairs * panel_width * 2;
    for (std::int64_t i = 0; i < ahead; ++i, next += 64) _mm_prefetch(next, _MM_HINT_T1);
    STEN_TILE_LOAD(4, values, 64);
    STEN_TILE_LOAD(5, line, x_stride);
    STEN_TILE_PRODUCT(0, 4, 5);
    if (copies) copy(step + 2, 0, 4);
    STEN_TILE_LOAD(6, line + tile, x_stride);
    STEN_TILE_PRODUCT(1, 4, 6);
    if (copies) copy(step + 2, 4, 4);
    STEN_TILE_LOAD(7, line + 2 * tile, x_stride);
    STEN_TILE_PRODUCT(2, 4, 7);
    if (copies) copy(step + 2, 8, 4);
    STEN_TILE_LOAD(5, line + 3 * tile, x_stride);
    STEN_TILE_PRODUCT(3, 4, 5);
    if (copies) copy(step + 2, 12, 4);
  }
  STEN_TILE_STORE(0, c, c_stride);
  STEN_TILE_STORE(1, c + 16, c_stride);
  STEN_TILE_STORE(2, c + 32, c_stride);
  STEN_TILE_STORE(3, c + 48, c_stride);
}

template <bool wide>
void run(const TileRows* rows, std::int64_t count, const TilePanels& panels, bool more) {
  constexpr std::int64_t lanes = wide ? panel_width : few_width;
  asm volatile("ldtilecfg %0" ::"m"(config));
  std::int64_t row = 0;
  for (const TileRows* a = rows; a < rows + count; row += a->tiles * tile_rows, ++a) {
    const auto pass = a->tiles == 2
                          ? a->columns ? multiply<2, wide, true> : multiply<2, wide, false>
                      : wide       ? a->columns ? multiply_one<true> : multiply_one<false>
                            : a->columns ? multiply<1, false, true>
                                   : multiply<1, false, false>;
    const std::int64_t in_panel = wide && a->tiles == 2 ? 2 : 1, passes = panels.count * in_panel;
    // The values of the next rows, a share with each step.
    const std::int64_t ahead = (16 * a->tiles + passes - 1) / passes;
    const char* next = reinterpret_cast<const char*>(a->values + a->depth * a->tiles * tile_size);
    for (std::int64_t p = 0; p < panels.count; ++p)
      for (std::int64_t half = 0; half < in_panel; ++half, next += a->depth * ahead * 64)
        pass(*a, panels.x + p * panels.x_step + half * 64, more,
             panels.c + p * panels.c_step + row * lanes + half * 32, next, ahead);
  }
  asm volatile("tilerelease" ::);
}

}  // namespace
}  // namespace sten::kernels::amx
STEN_TARGET_END

namespace sten::kernels {

const TilesTable* tiles_amx() {
  static constexpr TilesTable table{{amx::run<false>, amx::run<true>}};
  return &table;
}

}  // namespace sten::kernels
