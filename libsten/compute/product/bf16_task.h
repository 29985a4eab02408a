// SPDX-License-Identifier: Apache-2.0
// Tasks of a bfloat16 product: its loops over panels, slabs and rows.
#pragma once
#include <algorithm>
#include <functional>

#include "libsten/compute/product/bf16_kernel.h"
#include "libsten/compute/product/bf16_packed.h"
#include "libsten/compute/product/interleaved.h"
#include "libsten/compute/product/panel_shares.h"
#include "libsten/core/base/parallel.h"
#include "libsten/core/base/scratch.h"

namespace sten {
namespace bf16_detail {

template <class X>
inline constexpr bool is_in_place = false;
template <>
inline constexpr bool is_in_place<Interleaved> = true;

// Scratch of this thread for interleaved x and for sums.
struct Bf16Scratch {
  Scratch x, sums;
};
inline Bf16Scratch& bf16_scratch() {
  thread_local Bf16Scratch memory;
  return memory;
}

// Some groups of rows times some panels.
template <class X, class Y>
struct Bf16Task {
  using YEpilogue = typename EpilogueFor<Y>::Type;
  static constexpr Index finished_rows = 64;  // per step: their sums stay in the L1 cache
  const Bf16Packed& a;
  const X& x;
  const Y& y;
  const YEpilogue& epilogue;
  Index lanes;
  Index first, last;  // tokens
  Index begin, end;   // groups of rows
  bool stream;
  // Members, since take() is called often.
  const kernels::InterleavedTable& interleaved_ = kernels::interleaved();
  const kernels::EpilogueTable& epilogues_ = kernels::epilogue();

  Index panels() const { return ceil_div(last - first, lanes); }
  Index token(Index panel) const { return first + panel * lanes; }
  Index row_of(Index group) const { return a.group_rows[group]; }
  Index rows_of(Index from, Index to) const { return row_of(to) - row_of(from); }

  // Reads slab s of all panels, which are `step` elements apart.
  void read_slab(Index s, std::uint16_t* to, Index step) const {
    if constexpr (!is_in_place<X>)
      read_interleaved(x, a.slabs[s], a.slab_features(s), first, lanes, to, panels(), step);
  }

  // Prefetches a slab to L2: rows that are listed one by one would wait for memory each.
  void fetch_slab(Index s, const std::uint16_t* from, Index step) const {
    constexpr Index line = 32;
    const Index size = padded_features(a.slab_features(s)) * lanes;
    for (Index p = 0; p < panels(); ++p)
      for (Index i = 0; i < size; i += line) fetch_line(from + p * step + i);
  }

  // Writes one of tile_parts parts of a block of complete sums.
  void take(const kernels::TileBlock& b, Index part) const {
    using kernels::tile_parts;
    const Index row = row_of(begin) + b.row, first_token = token(b.panel) + b.token,
                width = b.tokens;
    const Index rows = std::min(b.rows, a.rows - row),
                tokens = std::min(width, y.tokens - first_token);
    if (rows <= 0) return;
    if constexpr (std::is_same_v<Y, InterleavedOut>) {
      if (part == 0 && !epilogue.does_nothing()) finish_interleaved(b, row, rows, first_token);
      const Index from = b.rows / tile_parts * part,
                  some = std::min(b.rows / tile_parts, rows - from);
      std::uint16_t* to = y.tile(row, token(b.panel)) + 2 * b.token;
      if (some > 0)
        interleaved_.round_features(b.sums + from * width, width, some, width,
                                    to + from / 2 * y.stride(), y.stride());
      // Padding features are 0.
      if (part + 1 < tile_parts || row + rows < y.features) return;
      const Index last = y.rows() - row / 2;
      for (Index r = ceil_div(rows, Index{2}); r < last; ++r)
        std::fill_n(to + r * y.stride(), 2 * width, std::uint16_t{0});
    } else {
      if (tokens <= 0) return;
      if (part == 0 && !epilogue.does_nothing()) {
        const Activations other{y.layout, y.features, y.tokens, epilogue.residual};
        epilogues_.finish(b.sums, width, rows, tokens, epilogue.scale,
                          epilogue.bias ? epilogue.bias + row : nullptr,
                          epilogue.residual ? other.tile(row, token(b.panel)) + b.token : nullptr,
                          y.stride(), epilogue.activation);
      }
      float* to = y.layout == ActivationLayout::tokens ? y.at + first_token * y.features + row
                                                       : y.tile(row, token(b.panel)) + b.token;
      if (y.layout == ActivationLayout::tokens) {
        // The number of tokens that kernels transpose at once.
        const Index share = std::max<Index>(width / tile_parts, 8), t = part * share;
        if (const Index some = std::min(share, std::min(width, tokens) - t); some > 0)
          interleaved_.transpose_panel(b.sums + t, width, rows, some, stream, to + t * y.features,
                                       y.features);
        return;
      }
      const Index from = b.rows / tile_parts * part,
                  some = std::min(b.rows / tile_parts, rows - from);
      if (some > 0)
        write(b.sums + from * width, width, some, tokens, to + from * y.stride(), y.stride());
    }
  }
  void write(const float* from, Index stride, Index rows, Index count, float* to,
             Index to_stride) const {
    if (stream) return epilogues_.stream(from, stride, rows, count, to, to_stride);
    for (Index r = 0; r < rows; ++r) std::copy_n(from + r * stride, count, to + r * to_stride);
  }
  void finish_interleaved(const kernels::TileBlock& b, Index row, Index rows, Index token) const {
    if constexpr (std::is_same_v<Y, InterleavedOut>) {
      alignas(64) float residual[2 * kernels::tile_rows * panel_width];
      if (epilogue.residual) {
        const Interleaved other{y.features, y.tokens, epilogue.residual};
        interleaved_.widen_features(other.tile(row, token - b.token) + 2 * b.token, y.stride(),
                                    rows, b.tokens, residual, b.tokens);
      }
      epilogues_.finish(b.sums, b.tokens, rows, b.tokens, epilogue.scale,
                        epilogue.bias ? epilogue.bias + row : nullptr,
                        epilogue.residual ? residual : nullptr, b.tokens, epilogue.activation);
    }
  }
  // Whether take() supports this y and epilogue.
  bool takes() const {
    if constexpr (std::is_same_v<Y, InterleavedOut>)
      return true;
    else
      return y.layout != ActivationLayout::tokens || !epilogue.residual;
  }

  // Writes sums of `rows` rows from `row` on, of panels `step` apart, to y.
  void finish(float* sums, Index step, Index row, Index rows) const {
    const Index count = std::min(rows, a.rows - row);
    Index some = kernels::tile_rows;
    if constexpr (std::is_same_v<Y, ActivationsOut>)
      if (y.layout == ActivationLayout::tokens) some = finished_rows;
    for (Index r = 0; r < count; r += some)
      for (Index p = 0; p < panels(); ++p) {
        const Index n = std::min(some, count - r);
        float* from = sums + p * step + r * lanes;
        if constexpr (std::is_same_v<Y, InterleavedOut>)
          write_interleaved(from, row + r, n, token(p), y, epilogue);
        else if (y.layout == ActivationLayout::tokens && !epilogue.residual)
          transpose_panel(from, row + r, n, token(p));
        else
          write_tile(from, row + r, n, token(p), lanes, stream, y, epilogue);
      }
  }
  // Like write_tile(), without a copy.
  void transpose_panel(float* tile, Index row, Index rows, Index token) const {
    const Index tokens = std::min(lanes, y.tokens - token);
    if (!epilogue.does_nothing())
      kernels::epilogue().finish(tile, lanes, rows, tokens, epilogue.scale,
                                 epilogue.bias ? epilogue.bias + row : nullptr, nullptr, 0,
                                 epilogue.activation);
    kernels::interleaved().transpose_panel(tile, lanes, rows, tokens, stream, y.tile(row, token),
                                           y.stride());
  }

  // Multiplies all slabs with groups [from, to). `in`: all slabs, interleaved, in panels `step`
  // apart, or nullptr to read one slab after another to `slab`.
  void multiply(Index from, Index to, const std::uint16_t* in, std::uint16_t* slab,
                Index step) const {
    const auto run = bf16_kernels().multiply[lanes == panel_width];
    const Index slabs = a.slab_count(), count = panels();
    if (slabs == 1 && takes()) {
      if (!in) read_slab(0, slab, step);
      if (in) fetch_slab(0, in, step);
      const auto take = [](const void* self, const kernels::TileBlock& block, Index part) {
        static_cast<const Bf16Task*>(self)->take(block, part);
      };
      bf16_kernels().each[lanes == panel_width](a.parts.data() + from, to - from,
                                                {count, in ? in : slab, step, nullptr, 0},
                                                {take, this});
      return;
    }
    // With one slab, sums are finished at once and their memory is reused.
    const bool at_once = slabs <= 1;
    const Index resident_rows = at_once ? finished_rows + 32 : rows_of(from, to);
    float* memory = bf16_scratch().sums.of(count * resident_rows * lanes);
    if (slabs == 0) std::fill_n(memory, count * resident_rows * lanes, 0.0f);
    for (Index s = 0; s < std::max<Index>(1, slabs); ++s) {
      if (!in && slabs) read_slab(s, slab, step);
      const std::uint16_t* panel = in && slabs ? in + a.slabs[s] * lanes : slab;
      if (in && slabs) fetch_slab(s, panel, step);
      for (Index g = from; g < to;) {
        Index until = g + 1;
        while (until < to && rows_of(g, until + 1) <= finished_rows) ++until;
        float* sums = memory + (at_once ? 0 : rows_of(from, g) * lanes);
        if (slabs)
          run(a.parts.data() + s * a.group_count() + g, until - g,
              {count, panel, step, sums, resident_rows * lanes}, s > 0);
        if (s + 1 >= slabs) finish(sums, resident_rows * lanes, row_of(g), rows_of(g, until));
        g = until;
      }
    }
  }

  void run() const {
    if (first >= last || begin >= end) return;
    const Index count = panels(), size = padded_features(a.cols) * lanes;
    if constexpr (is_in_place<X>) return in_bands(x.tile(0, first), nullptr, size, count);
    Index widest = 0;
    for (Index s = 0; s < a.slab_count(); ++s) widest = std::max(widest, a.slab_features(s));
    // Reads x once for all bands, or slab by slab if there is only one band.
    const bool one_band = bands(count) == 1;
    const Index step = one_band ? padded_features(widest) * lanes : size;
    auto* interleaved = reinterpret_cast<std::uint16_t*>(bf16_scratch().x.of(count * step / 2));
    if (one_band) return in_bands(nullptr, interleaved, step, count);
    for (Index s = 0; s < a.slab_count(); ++s) read_slab(s, interleaved + a.slabs[s] * lanes, step);
    in_bands(interleaved, nullptr, step, count);
  }

 private:
  // The number of bands of rows, such that their sums stay in the L2 cache.
  Index bands(Index count) const {
    constexpr Index most_bytes = Index{768} << 10;
    if (a.slab_count() <= 1) return 1;
    return std::min(end - begin, ceil_div(rows_of(begin, end) * count * lanes * 4, most_bytes));
  }
  void in_bands(const std::uint16_t* in, std::uint16_t* slab, Index step, Index count) const {
    const Index n = bands(count);
    for (Index i = 0; i < n; ++i)
      multiply(begin + i * (end - begin) / n, begin + (i + 1) * (end - begin) / n, in, slab, step);
    if (stream) stream_done();
  }
};

}  // namespace bf16_detail

// bf16_product() with a packed A. Interleaved x or y has two or more tokens.
template <class X, class Y>
void bf16_tiles_product(const Bf16Packed& a, const X& x, const Y& y,
                        const typename EpilogueFor<Y>::Type& epilogue) {
  const Index lanes = kernel_lanes_of(x.tokens), units = a.group_count();
  const Index panels = ceil_div(x.tokens, lanes);
  if (panels == 0 || units == 0) return;
  bool stream = false;
  if constexpr (std::is_same_v<Y, ActivationsOut>) stream = epilogue.stream || is_streamed(y);
  // Panels whose slabs fit in part of the L2 cache: A is read from memory once for all of them.
  constexpr Index slab_bytes = Index{768} << 10;
  const Index slab = std::max<Index>(1, a.slab_count() ? a.slab_features(0) : 1);
  const Index together = std::clamp<Index>(slab_bytes / (slab * lanes * 2), 2, 8);
  Index groups = ceil_div(panels, std::min(together, ceil_div(panels, threads())));
  // The same number per thread.
  if (groups > threads()) groups = std::min(panels, ceil_div(groups, threads()) * threads());
  // If there are fewer panels than threads, divides rows too.
  const Index parts = std::min<Index>(units, groups < threads() ? ceil_div(threads(), groups) : 1);
  const auto some = [&](Index begin, Index end) {
    for (Index t = begin; t < end; ++t) {
      const Index i = t / parts, part = t % parts;
      const Index from = i * panels / groups * lanes;
      const Index to = std::min(x.tokens, (i + 1) * panels / groups * lanes);
      bf16_detail::Bf16Task<X, Y>{
          a,     x, y, epilogue, lanes, from, to, part * units / parts, (part + 1) * units / parts,
          stream}
          .run();
    }
  };
  parallel_for(groups * parts, 1, std::cref(some));
}

}  // namespace sten
