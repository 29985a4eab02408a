// SPDX-License-Identifier: Apache-2.0
// StepFunctions (step_functions.h) over a Grid.
#pragma once
#include "kernels/block/each_element.h"
#include "kernels/block/several.h"
#include "kernels/block/steps/norm.h"
#include "kernels/block/steps/optimizers.h"

namespace sten::kernels {

struct AddElement {
  float* sum;
  const float* x;
  STEN_DEVICE void operator()(std::int64_t i) const { sum[i] += x[i]; }
};
struct AverageElement {
  float* mean;
  const float* x;
  float by;
  STEN_DEVICE void operator()(std::int64_t i) const {
    mean[i] += rounded_product(by, x[i] - mean[i]);
  }
};
struct PullElement {
  float* g;
  const float* w;
  const std::uint8_t* bits;
  float by;
  STEN_DEVICE void operator()(std::int64_t i) const {
    if (!bit_of(bits, i)) g[i] += rounded_product(by, w[i]);
  }
};
struct IndexElement {
  std::uint32_t* x;
  STEN_DEVICE void operator()(std::int64_t i) const { x[i] = static_cast<std::uint32_t>(i + 1); }
};
struct FindElement {
  const std::uint32_t* numbers;
  const std::uint8_t* bits;
  std::uint32_t* offsets;
  STEN_DEVICE void operator()(std::int64_t i) const {
    if (numbers[i] != 0 && bit_of(bits, i))
      offsets[numbers[i] - 1] = static_cast<std::uint32_t>(i + 1);
  }
};
struct CollectElement {
  const float* x;
  const std::uint8_t* bits;
  const std::uint32_t* offsets;
  float* y;
  STEN_DEVICE void operator()(std::int64_t i) const {
    const std::uint32_t at = offsets[i];
    y[i] = at != 0 && bit_of(bits, at - 1) ? x[at - 1] : 0.0F;
  }
};

template <class Grid>
struct StepsOn {
  template <class F>
  static void each(const F& f, std::int64_t n, Stream stream) {
    Grid(stream).launch(EachElement<F>{f, n});
  }

  static void adamw(std::span<const AdamWElements> all, Stream stream) {
    Grid grid(stream);
    launch_several(grid, all, [](const AdamWElements& e) {
      return StepGroups<AdamWRule>{e.x, {e.step, e.m, e.v}};
    });
  }
  static void sgd(std::span<const SgdElements> all, Stream stream) {
    Grid grid(stream);
    launch_several(grid, all, [](const SgdElements& e) {
      return StepGroups<SgdRule>{e.x, {e.step, e.momentum}};
    });
  }
  static void squares(std::span<const SquaredElements> all, double* sums, std::int64_t* ends,
                      Stream stream) {
    Grid grid(stream);
    launch_several(grid, all, [to = sums, end = ends, sums](const SquaredElements& e) mutable {
      const Squares squares{e.x, e.bits, e.n, to, end, sums};
      to += squares.blocks();
      if (end) ++end;
      return squares;
    });
  }
  static void norm(const double* sums, const std::int64_t* ends, std::int64_t tensors, double clip,
                   double* norm, float* scale, Stream stream) {
    Grid(stream).launch(NormOfSums{sums, ends, tensors, clip, norm, scale});
  }
  static void add(std::span<const AddedElements> all, Stream stream) {
    Grid grid(stream);
    launch_several(grid, all, [](const AddedElements& e) {
      return EachElement<AddElement>{{e.sum, e.x}, e.n};
    });
  }
  static void average(std::span<const AveragedElements> all, Stream stream) {
    Grid grid(stream);
    launch_several(grid, all, [](const AveragedElements& e) {
      return EachElement<AverageElement>{{e.mean, e.x, e.by}, e.n};
    });
  }
  static void pull(float* g, const float* w, const std::uint8_t* bits, float by, std::int64_t n,
                   Stream stream) {
    each(PullElement{g, w, bits, by}, n, stream);
  }
  static void number(std::uint32_t* x, std::int64_t n, Stream stream) {
    each(IndexElement{x}, n, stream);
  }
  static void find(const std::uint32_t* numbers, const std::uint8_t* bits, std::int64_t n,
                   std::uint32_t* offsets, Stream stream) {
    each(FindElement{numbers, bits, offsets}, n, stream);
  }
  static void collect(const float* x, const std::uint8_t* bits, const std::uint32_t* offsets,
                      std::int64_t n, float* y, Stream stream) {
    each(CollectElement{x, bits, offsets, y}, n, stream);
  }
};

template <class Grid>
StepFunctions step_functions() {
  using On = StepsOn<Grid>;
  return {On::adamw,   On::sgd,  On::squares, On::norm, On::add,
          On::average, On::pull, On::number,  On::find, On::collect};
}

}  // namespace sten::kernels
