// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/product/sampled_product.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "libsten/compute/product/nm_sampled.h"
#include "libsten/compute/product/packed.h"
#include "libsten/compute/product/packed_strips.h"
#include "libsten/compute/product/position_shares.h"
#include "libsten/compute/product/product_impl.h"
#include "libsten/compute/product/sparse_product.h"
#include "libsten/core/base/parallel.h"
#include "libsten/core/base/scratch.h"
#include "libsten/core/registry/route.h"

namespace sten {
namespace {

// Runs of height 1 at A's positions, with the values of numbered().
struct Positions {
  PackedStrips runs;

  explicit Positions(const Tensor& a) {
    const Tensor rows = convert(numbered(a), Spec(Csr::name));
    runs = pack_csr(entries_of(rows.as<Csr>()));
  }
};

// Some bands and slabs, for all tokens.
struct SampleTask {
  const PackedStrips& a;
  const Activations& dy;
  const Activations& x;
  Index band0, band1, slab0, slab1;
  float* sums;  // [values]

  void run() const {
    thread_local Scratch slab_memory, panel_memory;
    Index most_rows = 0;
    for (Index s = slab0; s < slab1; ++s) most_rows = std::max(most_rows, a.slab_rows(s));
    const Index row = band0 * a.band_rows, rows = std::min(a.rows, band1 * a.band_rows) - row;
    float* slab = slab_memory.of(most_rows * panel_width);
    float* panel = panel_memory.of(rows * panel_width);
    for (Index token = 0; token < x.tokens; token += panel_width) {
      if (x.tokens - token < panel_width) {  // tokens beyond the last add nothing
        std::fill_n(slab, most_rows * panel_width, 0.0f);
        std::fill_n(panel, rows * panel_width, 0.0f);
      }
      read_tile(dy, row, rows, token, panel_width, panel);
      for (Index s = slab0; s < slab1; ++s) {
        read_tile(x, a.slabs[s], a.slab_rows(s), token, panel_width, slab);
        for (Index b = band0; b < band1; ++b)
          kernels::csr_gemm().sample(a.part(s, b), slab,
                                     panel + (b - band0) * a.band_rows * panel_width,
                                     sums + a.first[s * a.band_count() + b].value);
      }
    }
  }
};

// The values at A's positions, by runs of single rows.
Values sampled_runs(const Tensor& a, const Activations& dy, const Activations& x) {
  const auto positions = a.of_positions().get<Positions>([&] { return Positions(a); });
  const PackedStrips& runs = positions->runs;
  std::vector<float> sums(runs.values.size());
  share_positions(runs.rows, runs.cols, runs.band_count(), runs.slab_count(),
                  [&](Index band0, Index band1, Index slab0, Index slab1) {
                    SampleTask{runs, dy, x, band0, band1, slab0, slab1, sums.data()}.run();
                  });
  Values values(DType::F32, a.values()->size());
  float* to = values.mutate<float>().data();
  parallel_for(std::ssize(sums), mask_grain, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i)
      to[std::bit_cast<std::uint32_t>(runs.values[i]) - 1] = sums[i];
  });
  return values;
}

constexpr SampledProductImpl sampled_impls[] = {
    {"nm strips", supports_nm_sampled, nm_sampled},
    {"runs", always, sampled_runs},
};

}  // namespace

const SampledProductImpl& sampled_product_impl(const Tensor& a) {
  return *first_supporting(sampled_impls, a, {});
}

Tensor sampled_product(const Tensor& a, const Activations& dy, const Activations& x) {
  check_factor(a);
  const Shape shape = a.shape();
  if (dy.features != shape[0] || x.features != shape[1] || dy.tokens != x.tokens)
    fail_usage(
        "sampled product: {} features of {} tokens times {} features of {} tokens do not give {}",
        dy.features, dy.tokens, x.features, x.tokens, to_string(shape));
  return a.with_values(sampled_product_impl(a).multiply(a, dy, x));
}

Tensor sampled_gemm(const Tensor& a, Index n, const float* dc, const float* b) {
  check_factor(a);
  const Shape shape = a.shape();
  return sampled_product(a, {ActivationLayout::features, shape[0], n, dc},
                         {ActivationLayout::features, shape[1], n, b});
}

Tensor sampled_linear(const Tensor& a, Index n, const float* dy, const float* x) {
  check_factor(a);
  const Shape shape = a.shape();
  return sampled_product(a, {ActivationLayout::tokens, shape[0], n, dy},
                         {ActivationLayout::tokens, shape[1], n, x});
}

}  // namespace sten
