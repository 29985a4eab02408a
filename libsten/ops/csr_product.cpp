#include <algorithm>

#include "libsten/base/parallel.h"
#include "libsten/ops/csr_packed.h"
#include "libsten/ops/scratch.h"

namespace sten {
namespace {

// Some bands times some panels.
struct Task {
  const CsrPacked& a;
  const Activations& x;
  const ActivationsOut& y;
  const Epilogue& epilogue;
  Index begin, end;   // bands
  Index first, last;  // tokens
  bool stream;

  // Asks the second cache for what read_tile() will read: `part` of `parts`, while others compute.
  void fetch(Index s, Index token, Index part, Index parts) const {
    if (s == a.slab_count()) return;
    constexpr Index line = 64 / sizeof(float);
    const Index rows = a.slab_rows(s), width = std::min(panel_width, x.tokens - token);
    const bool tokens = x.form == Form::tokens;
    const Index lines = tokens ? width : rows, length = tokens ? rows : width;
    const float* from = x.tile(a.slabs[s], token);
    for (Index i = part * lines / parts; i < (part + 1) * lines / parts; ++i)
      for (Index c = 0; c < length; c += line) fetch_line(from + i * x.stride() + c);
  }

  // Slabs outside, so that what A has in one is read from memory once for all panels.
  void run() const {
    thread_local Scratch slab_memory, panel_memory;
    Index most_rows = 0;
    for (Index s = 0; s < a.slab_count(); ++s) most_rows = std::max(most_rows, a.slab_rows(s));
    const Index band_size = a.band_rows * panel_width, panel_size = (end - begin) * band_size;
    const Index size = panels_of(last - first) * panel_size;
    float* slab = slab_memory.of(most_rows * panel_width);
    float* panels = panel_memory.of(size);
    std::fill_n(panels, size, 0.0f);
    if (last % panel_width) std::fill_n(slab, most_rows * panel_width, 0.0f);
    for (Index s = 0; s < a.slab_count(); ++s) {
      float* panel = panels;
      for (Index token = first; token < last; token += panel_width, panel += panel_size) {
        const float* in = slab;
        if (x.form == Form::panels)
          in = x.tile(a.slabs[s], token);
        else
          read_tile(x, a.slabs[s], a.slab_rows(s), token, panel_width, slab);
        const bool more = token + panel_width < last;  // panels of this slab
        for (Index b = begin; b < end; ++b) {
          fetch(more ? s : s + 1, more ? token + panel_width : first, b - begin, end - begin);
          kernels::csr_gemm().multiply(a.part(s, b), in, panel + (b - begin) * band_size);
        }
      }
    }
    const Index row = begin * a.band_rows, rows = std::min(a.rows, end * a.band_rows) - row;
    float* panel = panels;
    for (Index token = first; token < last; token += panel_width, panel += panel_size)
      write_tile(panel, row, rows, token, panel_width, stream, y, epilogue);
    if (stream) stream_done();
  }
};

// Beyond it C is not expected to stay in a cache.
constexpr Index most_cached_bytes = Index{8} << 20;

}  // namespace

void packed_product(const CsrPacked& a, const Activations& x, const ActivationsOut& y,
                    const Epilogue& epilogue) {
  const Index panels = panels_of(x.tokens), bands = a.band_count();
  if (panels == 0 || bands == 0) return;
  const bool stream = y.features * y.tokens * Index{sizeof(float)} > most_cached_bytes;
  // Panels of C that stay in the second cache together.
  constexpr Index most_bytes = Index{1} << 20;
  const Index group = std::clamp<Index>(
      most_bytes / (bands * a.band_rows * panel_width * Index{sizeof(float)}), 1, 8);
  const Index groups = ceil_div(panels, std::min(group, ceil_div(panels, threads())));
  // Few panels are not enough for all threads: then bands are shared out too.
  const Index parts = std::min<Index>(bands, groups < threads() ? ceil_div(threads(), groups) : 1);
  parallel_for(groups * parts, 1, [&](Index begin, Index end) {
    for (Index t = begin; t < end; ++t) {
      const Index i = t / parts, part = t % parts;
      const Index first = i * panels / groups * panel_width,
                  last = std::min(x.tokens, (i + 1) * panels / groups * panel_width);
      Task{a, x, y, epilogue, part * bands / parts, (part + 1) * bands / parts, first, last, stream}
          .run();
    }
  });
}

}  // namespace sten
