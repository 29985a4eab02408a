#include <algorithm>
#include <memory>
#include <new>

#include "libsten/base/parallel.h"
#include "libsten/ops/nmg_packed.h"
#include "libsten/ops/tiles.h"

namespace sten {
namespace {

using kernels::panel_width;

// Aligned floats that are kept from call to call: memory that is new each time costs more than
// small products do.
class Scratch {
 public:
  float* of(Index size) {
    if (size > size_) {
      memory_.reset(static_cast<float*>(::operator new[](size * sizeof(float), alignment)));
      size_ = size;
    }
    return memory_.get();
  }

 private:
  static constexpr std::align_val_t alignment{64};
  struct Delete {
    void operator()(float* p) const { ::operator delete[](p, alignment); }
  };
  std::unique_ptr<float[], Delete> memory_;
  Index size_ = 0;
};

// Some row blocks times some panels of B's columns, or of X's tokens.
struct Task {
  const NmgPacked& a;
  bool linear;
  Index n, begin, end, j0, j1;
  const float* in;
  float* out;

  void pack_slab(Index s, Index j, Index width, float* slab) const {
    const Index k0 = a.slabs[s], rows = a.slab_rows(s);
    if (linear) {
      transpose_tiles(in + j * a.cols + k0, a.cols, width, rows, slab, panel_width);
      return;
    }
    for (Index p = 0; p < rows; ++p)
      std::copy_n(in + (k0 + p) * n + j, width, slab + p * panel_width);
  }

  // Asks the second cache for what pack_slab() will read: `part` of `parts`, while others compute.
  void fetch_slab(Index s, Index j, Index part, Index parts) const {
    if (s == a.slab_count()) return;
    constexpr Index line = 64 / sizeof(float);
    const Index width = std::min(panel_width, j1 - j), rows = a.slab_rows(s);
    const Index lines = linear ? width : rows, length = linear ? rows : width;
    const Index stride = linear ? a.cols : n;
    const float* from = in + (linear ? j * a.cols + a.slabs[s] : a.slabs[s] * n + j);
    for (Index i = part * lines / parts; i < (part + 1) * lines / parts; ++i)
      for (Index c = 0; c < length; c += line) __builtin_prefetch(from + i * stride + c, 0, 2);
  }

  // Slabs outside, so that what A has in one is read from memory once for all panels.
  void run() const {
    thread_local Scratch slab_memory, panel_memory;
    const Index panel_size = (end - begin) * a.m * panel_width;
    float* slab = slab_memory.of(most_slab_rows * panel_width);
    float* panels = panel_memory.of(ceil_div(j1 - j0, panel_width) * panel_size);
    const kernels::NmgRows patterns = a.pattern_rows();
    for (Index s = 0; s < a.slab_count(); ++s) {
      float* panel = panels;
      for (Index j = j0; j < j1; j += panel_width, panel += panel_size) {
        const Index width = std::min(panel_width, j1 - j);
        if (width < panel_width) std::fill_n(slab, most_slab_rows * panel_width, 0.0f);
        pack_slab(s, j, width, slab);
        const bool more = j + panel_width < j1;  // panels of this slab
        const Index next_j = more ? j + panel_width : j0, next_s = more ? s : s + 1;
        for (Index b = begin; b < end; ++b) {
          float* sums = panel + (b - begin) * a.m * panel_width;
          fetch_slab(next_s, next_j, b - begin, end - begin);
          const bool direct = s + 1 == a.slab_count() && is_direct(b, width);
          kernels::nmg_gemm().block(patterns, a.strips(s, b), slab, s ? sums : nullptr, panel_width,
                                    direct ? out + b * a.m * n + j : sums,
                                    direct ? n : panel_width);
        }
      }
    }
    const Index r0 = begin * a.m, rows = std::min(a.rows, end * a.m) - r0;
    float* panel = panels;
    for (Index j = j0; j < j1; j += panel_width, panel += panel_size) {
      const Index width = std::min(panel_width, j1 - j);
      if (a.slab_count() == 0) std::fill_n(panel, panel_size, 0.0f);
      if (linear)
        transpose_tiles(panel, panel_width, rows, width, out + j * a.rows + r0, a.rows);
      else
        for (Index r = 0; r < rows; ++r)
          if (a.slab_count() == 0 || !is_direct((r0 + r) / a.m, width))
            std::copy_n(panel + r * panel_width, width, out + (r0 + r) * n + j);
    }
  }

  // Whether the last slab leaves a row block in C rather than in a panel.
  bool is_direct(Index block, Index width) const {
    return !linear && width == panel_width && (block + 1) * a.m <= a.rows;
  }
};

}  // namespace

void nmg_product(const Nmg& a, bool linear, Index n, const float* in, float* out) {
  const auto packed = a.derived.get<NmgPacked>([&] { return NmgPacked(a); });
  const Index panels = ceil_div(n, panel_width), blocks = packed->row_blocks;
  if (panels == 0 || blocks == 0) return;
  // Panels of C that stay in the second cache together.
  constexpr Index most_bytes = Index{1} << 20;
  const Index group =
      std::clamp<Index>(most_bytes / (blocks * packed->m * panel_width * sizeof(float)), 1, 8);
  const Index groups = ceil_div(panels, std::min(group, ceil_div(panels, threads())));
  // Few panels are not enough for all threads: then row blocks are shared out too.
  const Index parts = std::min<Index>(blocks, groups < threads() ? ceil_div(threads(), groups) : 1);
  parallel_for(groups * parts, 1, [&](Index first, Index last) {
    for (Index t = first; t < last; ++t) {
      const Index i = t / parts, part = t % parts;
      const Index j0 = i * panels / groups * panel_width,
                  j1 = std::min(n, (i + 1) * panels / groups * panel_width);
      Task{*packed, linear, n, part * blocks / parts, (part + 1) * blocks / parts, j0, j1, in, out}
          .run();
    }
  });
}

}  // namespace sten
