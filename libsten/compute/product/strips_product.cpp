// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "libsten/compute/product/packed_strips.h"
#include "libsten/compute/product/panel_shares.h"
#include "libsten/compute/product/product_impl.h"
#include "libsten/core/base/scratch.h"

namespace sten {
namespace {

auto multiply_of(const PackedStrips&, Index width) {
  return kernels::csr_gemm().multiply[width == panel_width];
}
auto multiply_of(const PackedRowPairs&, Index) { return kernels::csr_gemm().multiply_row_pairs; }

// Some bands times some panels.
template <class Packed>
struct Task {
  const Packed& a;
  const Activations& x;
  const ActivationsOut& y;
  const Epilogue& epilogue;
  Index begin, end;   // bands
  Index first, last;  // tokens
  Index width;        // width of panels: one of csr_widths
  bool stream;

  // Prefetches part `part` of `parts` of the data for read_tile() to L2, while other threads
  // compute.
  void fetch(Index s, Index token, Index part, Index parts) const {
    if (s == a.slab_count()) return;
    constexpr Index line = 64 / sizeof(float);
    const Index rows = a.slab_rows(s), count = std::min(width, x.tokens - token);
    const bool tokens = x.layout == ActivationLayout::tokens;
    const Index lines = tokens ? count : rows, length = tokens ? rows : count;
    const float* from = x.tile(a.slabs[s], token);
    for (Index i = part * lines / parts; i < (part + 1) * lines / parts; ++i)
      for (Index c = 0; c < length; c += line) fetch_line(from + i * x.stride() + c);
  }

  // Slabs are the outer loop, so that A's slab is read from memory once for all panels.
  void run() const {
    const auto multiply = multiply_of(a, width);
    thread_local Scratch slab_memory, panel_memory;
    Index most_rows = 0;
    for (Index s = 0; s < a.slab_count(); ++s) most_rows = std::max(most_rows, a.slab_rows(s));
    const Index band_size = a.band_rows * width, panel_size = (end - begin) * band_size;
    const Index size = ceil_div(last - first, width) * panel_size;
    float* slab = slab_memory.of(most_rows * width);
    float* panels = panel_memory.of(size);
    std::fill_n(panels, size, 0.0f);
    if (last % width) std::fill_n(slab, most_rows * width, 0.0f);
    for (Index s = 0; s < a.slab_count(); ++s) {
      float* panel = panels;
      for (Index token = first; token < last; token += width, panel += panel_size) {
        const float* in = slab;
        if (x.is_in_place(width))
          in = x.tile(a.slabs[s], token);
        else
          read_tile(x, a.slabs[s], a.slab_rows(s), token, width, slab);
        const bool more = token + width < last;  // more panels of this slab follow
        Index done = begin * a.band_rows;        // rows already written
        for (Index b = begin; b < end; ++b) {
          fetch(more ? s : s + 1, more ? token + width : first, b - begin, end - begin);
          multiply(a.part(s, b), in, panel + (b - begin) * band_size);
          // Finished rows are written while they are in the L1 and L2 caches.
          if (s + 1 == a.slab_count()) done = write(panel, token, done, (b + 1) * a.band_rows);
        }
      }
    }
    if (a.slab_count() == 0)
      for (Index token = first; token < last; token += width)
        write(panels, token, begin * a.band_rows, end * a.band_rows);
    if (stream) stream_done();
  }
  // Writes rows of a panel from `done` on, if they are many enough, and returns the end. Writes
  // whole cache lines of tokens as long as more rows follow.
  Index write(float* panel, Index token, Index done, Index ready) const {
    constexpr Index least = 64, line = 16;
    const Index row = begin * a.band_rows, rows = std::min(a.rows, end * a.band_rows);
    ready = ready >= rows ? rows : ready / line * line;
    if (ready <= done || (ready < rows && ready - done < least)) return done;
    write_tile(panel + (done - row) * width, done, ready - done, token, width, stream, y, epilogue);
    return ready;
  }
};

template <class Packed>
void product(const Packed& a, const Activations& x, const ActivationsOut& y, Index width,
             const Epilogue& epilogue) {
  share_panels(
      x.tokens, a.band_count(), a.band_rows,
      x.layout == ActivationLayout::panels && is_aligned(x.at), [&](const PanelShare& share) {
        Task<Packed>{
            a,         x,           y,          epilogue, share.begin,
            share.end, share.first, share.last, width,    epilogue.stream || is_streamed(y)}
            .run();
      });
}

}  // namespace

void strips_product(const PackedStrips& a, const Activations& x, const ActivationsOut& y,
                    const Epilogue& epilogue) {
  product(a, x, y, ProductCall::of(x, y).is_small_batch() ? narrow_panel_width : panel_width,
          epilogue);
}
void strips_product(const PackedRowPairs& a, const Activations& x, const ActivationsOut& y,
                    const Epilogue& epilogue) {
  product(a, x, y, panel_width, epilogue);
}

}  // namespace sten
