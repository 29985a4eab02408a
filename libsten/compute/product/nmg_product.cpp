// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "libsten/compute/product/nmg_packed.h"
#include "libsten/compute/product/panel_shares.h"
#include "libsten/core/base/scratch.h"

namespace sten {
namespace {

// Rows of C that are finished and written per step: 16 KB of the L1 cache.
constexpr Index finished_rows = 64;

// Some row blocks times some panels.
struct Task {
  const NmgPacked& a;
  const Activations& x;
  const ActivationsOut& y;
  const Epilogue& epilogue;
  Index begin, end;   // row blocks
  Index first, last;  // tokens
  bool stream;

  Index panels() const { return panels_of(last - first); }
  // A step is one slab for one panel. Slabs are the outer loop, so that A's slab is read from
  // memory once for all panels.
  Index steps() const { return a.slab_count() * panels(); }
  Index token(Index panel) const { return first + panel * panel_width; }
  // The last panel is as narrow as possible, unless x or y determine its width.
  Index width(Index panel) const {
    if (x.layout == ActivationLayout::panels || y.layout == ActivationLayout::panels)
      return panel_width;
    if (x.layout == ActivationLayout::narrow_panel || y.layout == ActivationLayout::narrow_panel)
      return narrow_panel_width;
    const Index tokens = last - token(panel);
    for (const Index w : kernels::nmg_widths)
      if (w >= tokens) return w;
    return panel_width;
  }

  // The data that read_tile() will read in a step.
  kernels::NmgFetch fetch(Index step, Index blocks) const {
    kernels::NmgFetch f;
    if (step >= steps()) return f;
    const Index s = step / panels(), p = step % panels();
    const Index rows = a.slab_rows(s), tokens = std::min(panel_width, x.tokens - token(p));
    f.row = x.tile(a.slabs[s], token(p));
    f.stride = x.stride();
    f.columns = x.layout == ActivationLayout::tokens ? rows : tokens;
    f.lines = (x.layout == ActivationLayout::tokens ? tokens : rows) * ceil_div(f.columns, f.line);
    f.at_once = ceil_div(f.lines, blocks * std::max<Index>(a.groups, 1));
    return f;
  }

  void run() const {
    thread_local Scratch slab_memory, panel_memory;
    const Index panel_size = (end - begin) * a.m * panel_width;
    float* slab = slab_memory.of(most_slab_rows * panel_width);
    // Output panels are summed in place.
    const bool in_place = !epilogue.stream && y.is_in_place(width(0)) && a.rows % a.m == 0 &&
                          epilogue.residual != y.at && steps() > 0;
    float* panels_begin = in_place ? nullptr : panel_memory.of(panels() * panel_size);
    const kernels::NmgRows patterns = a.pattern_rows();
    for (Index step = 0; step < steps(); ++step) {
      const Index s = step / panels(), p = step % panels(), wide = width(p);
      const float* in = slab;
      if (x.is_in_place(wide)) {
        in = x.tile(a.slabs[s], token(p));
      } else {
        if (x.tokens - token(p) < wide) std::fill_n(slab, most_slab_rows * wide, 0.0f);
        read_tile(x, a.slabs[s], a.slab_rows(s), token(p), wide, slab);
      }
      kernels::NmgFetch next = fetch(step + 1, end - begin);
      kernels::NmgRun& run = *kernels::nmg_run(wide);
      float* panel = in_place ? y.tile(begin * a.m, token(p)) : panels_begin + p * panel_size;
      const bool is_last = s + 1 == a.slab_count();
      // Finished rows are written while they are in the L1 cache.
      const Index at_once = is_last ? finished_blocks() : end - begin;
      Index done = begin * a.m;
      for (Index b = begin; b < end; b += at_once) {
        const Index blocks = std::min(at_once, end - b);
        run(patterns, a.strips(s, b), blocks, in, s > 0, panel + (b - begin) * a.m * wide, next);
        if (is_last) done = write(panel, p, done, (b + blocks) * a.m);
      }
    }
    if (a.slab_count() == 0) {
      for (Index p = 0; p < panels(); ++p) {
        std::fill_n(panels_begin, panel_size, 0.0f);
        write(panels_begin, p, begin * a.m, end * a.m);
      }
    }
    if (stream) stream_done();
  }

  Index finished_blocks() const {
    const Index unit = a.at_once();
    return std::max<Index>(1, finished_rows / (unit * a.m)) * unit;
  }
  // Writes rows of a panel from `done` on and returns the end. Writes whole cache lines of tokens
  // as long as more rows follow.
  Index write(float* panel, Index p, Index done, Index ready) const {
    const Index rows = std::min(a.rows, end * a.m);
    ready = ready >= rows ? rows : ready / 16 * 16;
    if (ready <= done) return done;
    write_tile(panel + (done - begin * a.m) * width(p), done, ready - done, token(p), width(p),
               stream, y, epilogue);
    return ready;
  }
};

}  // namespace

void strips_product(const NmgPacked& a, const Activations& x, const ActivationsOut& y,
                    const Epilogue& epilogue) {
  const Index unit = a.at_once();
  share_panels(x.tokens, ceil_div(a.row_blocks, unit), unit * a.m,
               x.layout == ActivationLayout::panels && is_aligned(x.at),
               [&](const PanelShare& share) {
                 const Index end = std::min(a.row_blocks, share.end * unit);
                 Task{a,
                      x,
                      y,
                      epilogue,
                      unit * share.begin,
                      end,
                      share.first,
                      share.last,
                      epilogue.stream || is_streamed(y)}
                     .run();
               });
}

}  // namespace sten
