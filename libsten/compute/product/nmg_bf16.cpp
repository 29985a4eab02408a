// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/product/nmg_bf16.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "kernels/interleaved.h"
#include "libsten/core/base/parallel.h"
#include "libsten/core/base/scratch.h"
#include "libsten/core/tensor/low_floats.h"

namespace sten {
namespace {

using kernels::bf16_strip_room, kernels::bf16_value_room;

// The rows of x that a byte can index: 16 KB of the L1 cache for 16 tokens.
constexpr Index widened_slab_rows = 256;
// Widened values and offsets take about 10 KB of the L1 cache.
constexpr Index widened_rows = 16;

}  // namespace

NmgBf16::NmgBf16(const Tensor& a)
    : order(widened(a).as<Nmg>(), widened_slab_rows),
      unit(std::max<Index>(1, widened_rows / order.m)) {
  Index bytes = 0;
  for (Index s = 0; s < order.slab_count(); ++s)
    for (Index u = 0; u < units(); ++u) {
      first.push_back(bytes);
      const Index blocks = std::min(unit, order.row_blocks - u * unit),
                  strips = blocks * order.slab_rows(s);
      bytes += bf16_strip_room(strips) + 2 * bf16_value_room(strips * order.n);
    }
  stream = Array<std::uint8_t>(bytes);
  std::uint8_t* const all = stream.mutate();
  parallel_for(std::ssize(first), 1, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      const Index s = i / units(), block = i % units() * unit;
      const kernels::NmgSlabStrips from = order.strips(s, block);
      const Index strips = std::min(unit, order.row_blocks - block) * order.slab_rows(s);
      std::uint8_t* to = all + first[i];
      for (Index j = 0; j < strips; ++j)
        to[j / 64 * 64 + j % 32 * 2 + j % 64 / 32] =
            static_cast<std::uint8_t>(from.offsets[j] / (kernels::panel_width * sizeof(float)));
      to += bf16_strip_room(strips);
      for (Index j = 0; j < strips * order.n; ++j) {
        const std::uint16_t value = kernels::round_to_bf16(from.values[j]);
        std::memcpy(to + 2 * (j / 32 * 32 + j % 16 * 2 + j % 32 / 16), &value, sizeof value);
      }
    }
  });
  order.offsets = {};
  order.values = {};
}

Index NmgBf16::task_rows() const { return std::lcm(unit * order.m, kernels::bf16_block_rows); }

void NmgBf16::multiply(Index begin, Index end, const float* x, Index tokens, float* c) const {
  const Index m = order.m, width = kernels::bf16_width(tokens);
  const auto widen = kernels::bf16_small_batch().widen_strips;
  kernels::NmgRun& run = *kernels::nmg_run(width);
  const kernels::NmgRows rows = order.pattern_rows();
  constexpr Index ahead = 2 * kernels::nmg_read_ahead;
  const Index most_strips = unit * widened_slab_rows,
              values = bf16_value_room(most_strips * order.n);
  thread_local Scratch memory;
  float* const wide = memory.of(values + ahead * 8 + bf16_strip_room(most_strips) + ahead);
  auto* const offsets = reinterpret_cast<std::uint16_t*>(wide + values + ahead * 8);
  if (order.slab_count() == 0) std::fill_n(c, (end - begin) * m * width, 0.0f);
  kernels::NmgFetch nothing;
  for (Index s = 0; s < order.slab_count(); ++s)
    for (Index b = begin; b < end; b += unit) {
      const Index blocks = std::min(unit, end - b), strips = blocks * order.slab_rows(s);
      widen({stream.data() + first[s * units() + b / unit], strips, strips * order.n}, offsets,
            wide);
      kernels::NmgSlabStrips of = order.strips(s, b);
      of.offsets = offsets;
      of.values = wide;
      run(rows, of, blocks, x + order.slabs[s] * width, s > 0, c + (b - begin) * m * width,
          nothing);
    }
}

bool is_for_bf16_strips(const Tensor& a, Index tokens) {
  if (!a.is<Nmg>() || tokens <= 4 || kernels::bf16_small_batch().looks_up(tokens, true))
    return false;
  const Nmg& w = a.as<Nmg>();
  // Strips sorted by pattern are slower than lanes.
  return w.axis == 0 && w.n > 1 && kernels::nmg_gemm().groups(w.n, w.m) > 0;
}

std::shared_ptr<const NmgBf16> nmg_bf16(const Tensor& a) {
  return a.derived().get<NmgBf16>([&] { return NmgBf16(a); });
}

}  // namespace sten
