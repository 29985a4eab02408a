// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/product/dense_panels.h"

#include <algorithm>

#include "kernels/panels.h"
#include "libsten/compute/product/panel_shares.h"

namespace sten {
namespace {

// Rows of a panel of x that stay in the L1 cache (32 KB), and rows of A whose part of a panel of y
// stays there while it is finished. A narrow panel takes a quarter of both.
constexpr Index slab_rows = 128, band_rows = 96;

// Some bands of A times some panels.
struct DenseTask {
  Index rows, cols;
  const float* a;
  const Activations& x;
  const ActivationsOut& y;
  const Epilogue& epilogue;

  // Slabs are the outer loop, so that A's slab is read from memory once for all panels.
  void run(const PanelShare& share) const {
    const Index lanes =
        y.layout == ActivationLayout::narrow_panel ? narrow_panel_width : panel_width;
    const Index slabs = std::max<Index>(1, ceil_div(cols, slab_rows));
    const auto multiply = kernels::panels(lanes).multiply;
    for (Index s = 0; s < slabs; ++s) {
      const Index k = s * slab_rows, depth = std::min(slab_rows, cols - k);
      for (Index token = share.first; token < share.last; token += lanes)
        for (Index band = share.begin; band < share.end; ++band) {
          const Index row = band * band_rows, count = std::min(band_rows, rows - row);
          float* to = y.tile(row, token);
          multiply(a + row * cols + k, cols, count, depth, x.tile(k, token), s > 0, to);
          if (s + 1 == slabs) write_tile(to, row, count, token, lanes, false, y, epilogue);
        }
    }
  }
};

}  // namespace

void dense_panels_product(Index rows, Index cols, const float* a, const Activations& x,
                          const ActivationsOut& y, const Epilogue& epilogue) {
  const DenseTask task{rows, cols, a, x, y, epilogue};
  share_panels(x.tokens, ceil_div(rows, band_rows), band_rows, true,
               [&](const PanelShare& share) { task.run(share); });
}

}  // namespace sten
