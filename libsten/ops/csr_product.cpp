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
  Index width;        // of panels: one of csr_widths
  bool stream;

  // Asks the second cache for what read_tile() will read: `part` of `parts`, while others compute.
  void fetch(Index s, Index token, Index part, Index parts) const {
    if (s == a.slab_count()) return;
    constexpr Index line = 64 / sizeof(float);
    const Index rows = a.slab_rows(s), count = std::min(width, x.tokens - token);
    const bool tokens = x.form == Form::tokens;
    const Index lines = tokens ? count : rows, length = tokens ? rows : count;
    const float* from = x.tile(a.slabs[s], token);
    for (Index i = part * lines / parts; i < (part + 1) * lines / parts; ++i)
      for (Index c = 0; c < length; c += line) fetch_line(from + i * x.stride() + c);
  }

  // Slabs outside, so that what A has in one is read from memory once for all panels.
  void run() const {
    const auto multiply = kernels::csr_gemm().multiply[width == panel_width];
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
        if (x.form == Form::panels && is_aligned(x.at))
          in = x.tile(a.slabs[s], token);
        else
          read_tile(x, a.slabs[s], a.slab_rows(s), token, width, slab);
        const bool more = token + width < last;  // panels of this slab
        for (Index b = begin; b < end; ++b) {
          fetch(more ? s : s + 1, more ? token + width : first, b - begin, end - begin);
          multiply(a.part(s, b), in, panel + (b - begin) * band_size);
        }
      }
    }
    const Index row = begin * a.band_rows, rows = std::min(a.rows, end * a.band_rows) - row;
    float* panel = panels;
    for (Index token = first; token < last; token += width, panel += panel_size)
      write_tile(panel, row, rows, token, width, stream, y, epilogue);
    if (stream) stream_done();
  }
};

// Beyond it C is not expected to stay in a cache.
constexpr Index most_cached_bytes = Index{8} << 20;

}  // namespace

void packed_product(const CsrPacked& a, const Activations& x, const ActivationsOut& y,
                    const Epilogue& epilogue) {
  // Few tokens in narrow panels, where those of others are not.
  constexpr Index narrow = kernels::csr_widths[0];
  const bool few = x.tokens <= narrow && x.form != Form::panels && y.form != Form::panels;
  const Index width = few ? narrow : panel_width;
  const Index panels = ceil_div(x.tokens, width), bands = a.band_count();
  if (panels == 0 || bands == 0) return;
  const bool stream = y.features * y.tokens * Index{sizeof(float)} > most_cached_bytes;
  // Panels of C that stay in the second cache together.
  constexpr Index most_bytes = Index{1} << 20;
  const Index group =
      std::clamp<Index>(most_bytes / (bands * a.band_rows * width * Index{sizeof(float)}), 1, 8);
  Index groups = ceil_div(panels, std::min(group, ceil_div(panels, threads())));
  // As many for each thread.
  if (groups > threads()) groups = std::min(panels, ceil_div(groups, threads()) * threads());
  // Few panels are not enough for all threads: then bands are shared out too.
  const Index parts = std::min<Index>(bands, groups < threads() ? ceil_div(threads(), groups) : 1);
  parallel_for(groups * parts, 1, [&](Index begin, Index end) {
    for (Index t = begin; t < end; ++t) {
      const Index i = t / parts, part = t % parts;
      const Index first = i * panels / groups * width,
                  last = std::min(x.tokens, (i + 1) * panels / groups * width);
      Task{a,     x,    y,     epilogue, part * bands / parts, (part + 1) * bands / parts,
           first, last, width, stream}
          .run();
    }
  });
}

}  // namespace sten
