// How a product of bfloat16 goes through panels, slabs and rows.
#pragma once
#include <algorithm>
#include <functional>

#include "libsten/base/parallel.h"
#include "libsten/base/scratch.h"
#include "libsten/product/bf16_kernel.h"
#include "libsten/product/bf16_packed.h"
#include "libsten/product/bf16_product.h"
#include "libsten/product/panel_shares.h"

namespace sten {
namespace bf16_detail {

template <class X>
inline constexpr bool is_in_place = false;
template <>
inline constexpr bool is_in_place<Pairs> = true;

// Some groups of rows times some panels.
template <class X, class Y>
struct Bf16Task {
  using YEpilogue = typename EpilogueFor<Y>::Type;
  const Bf16Packed& a;
  const X& x;
  const Y& y;
  const YEpilogue& epilogue;
  Index lanes;
  Index first, last;  // tokens
  Index begin, end;   // groups of rows
  bool stream;

  Index panels() const { return ceil_div(last - first, lanes); }
  Index token(Index panel) const { return first + panel * lanes; }
  Index slab_pairs(Index s) const { return padded_features(a.slab_features(s)) / 2; }
  // Of a whole panel, in elements.
  Index panel_size() const { return padded_features(a.cols) * lanes; }
  Index row_of(Index group) const { return a.group_rows[group]; }

  // What read_slab() will read of some slab.
  kernels::TileFetch fetch(Index s, Index steps) const {
    kernels::TileFetch f;
    if constexpr (!is_in_place<X>) {
      if (s == a.slab_count()) return f;
      constexpr Index size = sizeof(*x.at), line = 64;
      const Index features = a.slab_features(s), tokens = std::min(last, x.tokens) - first;
      const bool by_tokens = x.form == Form::tokens;
      if (x.form == Form::panels || x.form == Form::few) return f;
      f.row = reinterpret_cast<const char*>(x.tile(a.slabs[s], first));
      f.columns = (by_tokens ? features : tokens) * size;
      f.stride = x.stride() * size;
      f.lines = (by_tokens ? tokens : features) * ceil_div(f.columns, line);
      f.at_once = ceil_div(f.lines, std::max<Index>(1, steps));
    }
    return f;
  }
  void read_slab(Index s, std::uint16_t* to, Index step) const {
    if constexpr (!is_in_place<X>)
      for (Index p = 0; p < panels(); ++p)
        read_pairs(x, a.slabs[s], a.slab_features(s), token(p), lanes, to + p * step);
  }

  void finish(float* c, Index c_step, Index row, Index rows) const {
    const Index count = std::min(rows, a.rows - row);
    if (count <= 0) return;
    for (Index p = 0; p < panels(); ++p) {
      if constexpr (std::is_same_v<Y, PairsOut>)
        write_pairs(c + p * c_step, row, count, token(p), y, epilogue);
      else
        write_tile(c + p * c_step, row, count, token(p), lanes, stream, y, epilogue);
    }
  }

  // Steps of the kernel in a slab.
  Index steps(Index s, Index from, Index to) const {
    Index n = 0;
    for (Index g = from; g < to; ++g) n += a.parts[s * a.group_count() + g].depth;
    return n * panels() * (lanes / few_width) / 2;
  }

  void run() const {
    // Sums of some rows stay in the second cache, and in the first while they are finished.
    constexpr Index band_bytes = 768 << 10, finished = 64;
    thread_local Scratch x_memory, c_memory;
    const auto multiply = bf16_kernels().multiply[lanes == panel_width];
    const Index count = panels(), all_rows = row_of(end) - row_of(begin);
    if (all_rows == 0 || count == 0) return;
    // Rows whose sums stay in the second cache.
    const Index bands = std::min(end - begin, ceil_div(all_rows * count * lanes * 4, band_bytes));
    const bool whole = bands > 1 && !is_in_place<X>;  // x is read once for all bands
    std::uint16_t* pairs = nullptr;
    Index x_step = panel_size(), most_pairs = 0;
    for (Index s = 0; s < a.slab_count(); ++s) most_pairs = std::max(most_pairs, slab_pairs(s));
    if constexpr (!is_in_place<X>) {
      if (!whole) x_step = most_pairs * 2 * lanes;
      pairs = reinterpret_cast<std::uint16_t*>(x_memory.of(count * x_step / 2));
      if (whole)
        for (Index s = 0; s < a.slab_count(); ++s) read_slab(s, pairs + a.slabs[s] * lanes, x_step);
    }
    for (Index band = 0; band < bands; ++band) {
      const Index from = begin + band * (end - begin) / bands;
      const Index to = begin + (band + 1) * (end - begin) / bands;
      const Index row = row_of(from), c_step = (row_of(to) - row) * lanes;
      float* c = c_memory.of(count * c_step);
      if (a.slab_count() == 0) {
        std::fill_n(c, count * c_step, 0.0f);
        finish(c, c_step, row, row_of(to) - row);
      }
      for (Index s = 0; s < a.slab_count(); ++s) {
        const std::uint16_t* in;
        if constexpr (is_in_place<X>) {
          in = x.tile(a.slabs[s], first);
        } else {
          if (!whole) read_slab(s, pairs, x_step);
          in = whole ? pairs + a.slabs[s] * lanes : pairs;
        }
        kernels::TileFetch next;
        if (!whole) next = fetch(s + 1, steps(s, from, to));
        const bool is_last = s + 1 == a.slab_count();
        const kernels::TileRows* parts = a.parts.data() + s * a.group_count();
        // Slabs of x that the first cache holds are multiplied by all rows; else what rows have in
        // a slab is multiplied by all panels.
        if (!a.has_columns() && !is_last) {
          for (Index p = 0; p < count; ++p)
            multiply(parts + from, to - from, {1, in + p * x_step, 0, c + p * c_step, 0}, s > 0,
                     next);
          continue;
        }
        for (Index g = from; g < to;) {
          Index until = g + 1;
          if (!is_last) until = to;
          while (until < to && row_of(until) - row_of(g) < finished) ++until;
          float* sums = c + (row_of(g) - row) * lanes;
          multiply(parts + g, until - g, {count, in, x_step, sums, c_step}, s > 0, next);
          if (is_last) finish(sums, c_step, row_of(g), row_of(until) - row_of(g));
          g = until;
        }
      }
    }
    if (stream) stream_done();
  }
};

}  // namespace bf16_detail

// The product of bf16_product(), of what it makes of A.
template <class X, class Y>
void bf16_tiles_product(const Bf16Packed& a, const X& x, const Y& y,
                        const typename EpilogueFor<Y>::Type& epilogue) {
  constexpr Index together = 4;  // panels, so that A is read from memory once for all of them
  const Index lanes = lanes_of(x.tokens);
  const Index panels = ceil_div(x.tokens, lanes), groups_of_rows = a.group_count();
  if (panels == 0 || groups_of_rows == 0) return;
  bool stream = false;
  if constexpr (std::is_same_v<Y, ActivationsOut>) stream = epilogue.stream || is_streamed(y);
  Index groups = ceil_div(panels, std::min(together, ceil_div(panels, threads())));
  if (groups > threads()) groups = std::min(panels, ceil_div(groups, threads()) * threads());
  const Index parts =
      std::min<Index>(groups_of_rows, groups < threads() ? ceil_div(threads(), groups) : 1);
  const auto some = [&](Index begin, Index end) {
    for (Index t = begin; t < end; ++t) {
      const Index i = t / parts, part = t % parts;
      bf16_detail::Bf16Task<X, Y>{a,
                                  x,
                                  y,
                                  epilogue,
                                  lanes,
                                  i * panels / groups * lanes,
                                  std::min(x.tokens, (i + 1) * panels / groups * lanes),
                                  part * groups_of_rows / parts,
                                  (part + 1) * groups_of_rows / parts,
                                  stream}
          .run();
    }
  };
  parallel_for(groups * parts, 1, std::cref(some));
}

}  // namespace sten
