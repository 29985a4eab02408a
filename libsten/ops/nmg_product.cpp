#include <algorithm>
#include <memory>
#include <new>

#include "libsten/base/parallel.h"
#include "libsten/ops/nmg_packed.h"
#include "libsten/ops/transpose.h"

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

// Some row blocks times `cols` <= panel_width columns of B, or tokens of X.
struct Task {
  const NmgPacked& a;
  bool linear;
  Index n, j0, cols, begin, end;
  const float* in;
  float* out;

  void pack_slab(Index s, float* slab) const {
    const Index k0 = a.slabs[s], rows = a.slab_rows(s);
    if (linear) {
      transpose(cols, rows, in + j0 * a.cols + k0, a.cols, slab, panel_width);
      return;
    }
    for (Index p = 0; p < rows; ++p)
      std::copy_n(in + (k0 + p) * n + j0, cols, slab + p * panel_width);
  }

  void run() const {
    thread_local Scratch slab_memory, panel_memory;
    float* slab = slab_memory.of(most_slab_rows * panel_width);
    float* panel = panel_memory.of((end - begin) * a.m * panel_width);
    if (cols < panel_width) std::fill_n(slab, most_slab_rows * panel_width, 0.0f);
    const Index r0 = begin * a.m, rows = std::min(a.rows, end * a.m) - r0;
    const kernels::NmgRows patterns = a.pattern_rows();
    if (a.slab_count() == 0) std::fill_n(panel, rows * panel_width, 0.0f);
    for (Index s = 0; s < a.slab_count(); ++s) {
      pack_slab(s, slab);
      const bool last = s + 1 == a.slab_count();
      for (Index b = begin; b < end; ++b) {
        float* sums = panel + (b - begin) * a.m * panel_width;
        const bool in_place = last && !linear && cols == panel_width && (b + 1) * a.m <= a.rows;
        float* to = in_place ? out + b * a.m * n + j0 : sums;
        kernels::nmg_block()(patterns, a.runs(s, b), slab, s ? sums : nullptr, panel_width, to,
                             in_place ? n : panel_width);
      }
    }
    if (linear) {
      transpose(rows, cols, panel, panel_width, out + j0 * a.rows + r0, a.rows);
      return;
    }
    for (Index r = 0; r < rows; ++r)
      if (a.slab_count() == 0 || cols < panel_width || (r0 + r) / a.m * a.m + a.m > a.rows)
        std::copy_n(panel + r * panel_width, cols, out + (r0 + r) * n + j0);
  }
};

}  // namespace

void nmg_product(const Nmg& a, bool linear, Index n, const float* in, float* out) {
  const auto packed = a.derived.get<NmgPacked>([&] { return NmgPacked(a); });
  const Index panels = ceil_div(n, panel_width);
  if (panels == 0 || packed->row_blocks == 0) return;
  // Few columns are not enough for all threads: then row blocks are shared out too.
  const Index parts = std::min<Index>(packed->row_blocks,
                                      panels < 2 * threads() ? ceil_div(2 * threads(), panels) : 1);
  parallel_for(panels * parts, 1, [&](Index first, Index last) {
    for (Index t = first; t < last; ++t) {
      const Index j0 = t / parts * panel_width, part = t % parts;
      Task{*packed,
           linear,
           n,
           j0,
           std::min(panel_width, n - j0),
           part * packed->row_blocks / parts,
           (part + 1) * packed->row_blocks / parts,
           in,
           out}
          .run();
    }
  });
}

}  // namespace sten
