// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/product/panels.h"

#include <algorithm>
#include <vector>

#include "libsten/compute/product/tiles.h"
#include "libsten/core/base/scratch.h"

namespace sten {
namespace {

// Copies of constant length are faster.
void copy_rows(const float* from, Index stride, Index lines, Index length, float* to,
               Index to_stride) {
  const auto copy = [&](auto n) {
    for (Index i = 0; i < lines; ++i) std::copy_n(from + i * stride, Index{n}, to + i * to_stride);
  };
  if (length == panel_width)
    copy(std::integral_constant<Index, panel_width>{});
  else if (length == narrow_panel_width)
    copy(std::integral_constant<Index, narrow_panel_width>{});
  else
    copy(length);
}

}  // namespace

void read_tile(const Activations& x, Index k0, Index count, Index token, Index width, float* tile) {
  const Index tokens = std::min(width, x.tokens - token);
  const float* from = x.tile(k0, token);
  if (x.layout == ActivationLayout::tokens)
    return transpose_tiles(from, x.features, tokens, count, tile, width);
  copy_rows(from, x.stride(), count, tokens, tile, width);
}

void write_tile(float* tile, Index k0, Index count, Index token, Index width, bool stream,
                const ActivationsOut& y, const Epilogue& epilogue) {
  // All lanes of a narrow panel: a whole vector.
  const Index tokens = y.layout == ActivationLayout::narrow_panel
                           ? std::min(width, narrow_panel_width)
                           : std::min(width, y.tokens - token);
  if (!epilogue.does_nothing()) {
    const Activations other{y.layout, y.features, y.tokens, epilogue.residual};
    const float* residual = epilogue.residual ? other.tile(k0, token) : nullptr;
    Index stride = other.stride();
    thread_local std::vector<float> transposed;
    if (residual && y.layout == ActivationLayout::tokens) {
      transposed.resize(count * width);
      read_tile(other, k0, count, token, width, transposed.data());
      residual = transposed.data();
      stride = width;
    }
    kernels::epilogue().finish(tile, width, count, tokens, epilogue.scale,
                               epilogue.bias ? epilogue.bias + k0 : nullptr, residual, stride,
                               epilogue.activation);
  }
  float* to = y.tile(k0, token);
  if (to == tile) return;
  const float* from = tile;
  Index lines = count, length = tokens, stride = width;
  if (y.layout == ActivationLayout::tokens) {
    // In a buffer: at a distance of a power of two bytes, the rows of all tokens would share few
    // sets of the cache.
    thread_local Scratch memory;
    float* transposed = memory.of(panel_width * count);
    transpose_tiles(tile, width, count, tokens, transposed, count);
    from = transposed;
    lines = tokens, length = stride = count;
  }
  if (stream) return kernels::epilogue().stream(from, stride, lines, length, to, y.stride());
  copy_rows(from, stride, lines, length, to, y.stride());
}

void stream_done() { kernels::epilogue().stream_done(); }

}  // namespace sten
