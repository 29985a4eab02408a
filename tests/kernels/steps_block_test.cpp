// SPDX-License-Identifier: Apache-2.0
// StepFunctions over grids, as on a GPU.
#include "kernels/block/steps/steps.h"

#include <doctest/doctest.h>

#include <bit>

#include "libsten/core/layout/masked.h"
#include "libsten/core/registry/registry.h"
#include "libsten/training/optim/adamw.h"
#include "libsten/training/optim/gradients.h"
#include "libsten/training/optim/sgd.h"
#include "tests/support/checked_device.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;
using kernels::StepFunctions;

namespace {

const StepFunctions& step_table(bool checked) {
  static const StepFunctions plain = kernels::step_functions<kernels::SerialGrid>(),
                             careful = kernels::step_functions<CheckedDevice>();
  return checked ? careful : plain;
}

// f(functions, n) over grids with and without checks.
template <class F>
void each_size(const F& f) {
  for (const Index n : {1, 7, 8, 9, 255, 1024, 8193, 40'000}) {
    CAPTURE(n);
    f(step_table(false), n);
    CheckedDevice::reset(static_cast<std::uint64_t>(n));
    f(step_table(true), n);
    CHECK(CheckedDevice::reports().empty());
  }
}

std::vector<float> step_floats(Dice& dice, Index n) {
  std::vector<float> all(static_cast<std::size_t>(n));
  for (float& v : all) v = static_cast<float>(dice.normal());
  return all;
}
Dense dense_of(const std::vector<float>& v) {
  Dense x = Dense::zeros(DType::F32, {std::ssize(v)});
  std::ranges::copy(v, x.values.mutate<float>().begin());
  return x;
}
std::vector<float> values_of(const Tensor& t) {
  const auto v = t.values()->as<float>();
  return {v.begin(), v.end()};
}
// Counts launches.
struct CountingGrid : kernels::SerialGrid {
  static int& launches() {
    static int n = 0;
    return n;
  }
  using SerialGrid::SerialGrid;
  template <class Kernel>
  void launch(const Kernel& kernel) {
    ++launches();
    SerialGrid::launch(kernel);
  }
};

// Checks that bits are equal, or values close if the CPU does not fuse multiply-adds.
void check_same(const std::vector<float>& got, const std::vector<float>& wanted, bool exact) {
  REQUIRE(got.size() == wanted.size());
  Index wrong = 0;
  for (std::size_t i = 0; i < got.size(); ++i)
    wrong += exact ? std::bit_cast<std::uint32_t>(got[i]) != std::bit_cast<std::uint32_t>(wanted[i])
                   : !(std::abs(got[i] - wanted[i]) <= 1e-6F * (1 + std::abs(wanted[i])));
  CHECK(wrong == 0);
}

Mask half_of(Dice& dice, Index n) {
  Mask m = Mask::none({n});
  for (Index i = 0; i < n; ++i) m.set(i, dice.below(2) == 1);
  return m;
}

// Two steps of an optimizer on the CPU and by f, of a masked weight and of a dense one, with and
// without a scale.
template <class Optimizer, class F>
void check_optimizer(const Optimizer& o, bool exact, const F& f) {
  each_size([&](const StepFunctions& steps, Index n) {
    Dice dice(static_cast<std::uint64_t>(n));
    const Mask kept = half_of(dice, n);
    const Dense w0 = dense_of(step_floats(dice, n));
    for (const bool is_masked : {false, true})
      for (const float scale : {1.0F, 0.3F}) {
        Parameter p("w", is_masked ? registry().pack(w0, kept, Spec("masked")) : Tensor(w0));
        std::vector<float> w = values_of(p.value);
        std::vector<std::vector<float>> state(2, std::vector<float>(w.size()));
        for (int step = 1; step <= 2; ++step) {
          const std::vector<float> g = step_floats(dice, n);
          o.step(p, dense_of(g), Update().scale_gradient(double{scale}));
          f(steps, step,
            kernels::StepElements{w.data(), n, g.data(), is_masked ? kept.bits.data() : nullptr,
                                  nullptr, scale == 1 ? nullptr : &scale},
            state);
        }
        check_same(w, values_of(p.value), exact);
        std::size_t k = 0;
        for (const auto& [key, s] : p.state)
          if (key != "step") check_same(state[k++], values_of(s), exact);
      }
  });
}

}  // namespace

TEST_CASE("AdamW steps of block kernels match the CPU's with masks and gradient scales") {
  const AdamW o({.rate = 1e-2, .weight_decay = 0.1});
  const bool fuses = kernels::float32_isa() >= kernels::Isa::avx2;
  check_optimizer(o, fuses, [&](const StepFunctions& steps, int t, const auto& x, auto& state) {
    const AdamWOptions& a = o.options;
    const kernels::AdamWStep s{static_cast<float>(a.rate * a.weight_decay),
                               static_cast<float>(a.rate / (1 - std::pow(a.beta1, t))),
                               static_cast<float>(1 / std::sqrt(1 - std::pow(a.beta2, t))),
                               static_cast<float>(a.eps),
                               static_cast<float>(1 - a.beta1),
                               static_cast<float>(1 - a.beta2)};
    const kernels::AdamWElements all{x, s, state[0].data(), state[1].data()};
    steps.adamw({&all, 1}, nullptr);
  });
}

TEST_CASE("SGD steps of block kernels are bit-identical to the CPU's, also with momentum") {
  for (const SgdOptions& o :
       {SgdOptions{.rate = 0.1, .weight_decay = 0.01}, SgdOptions{.rate = 0.1, .momentum = 0.9},
        SgdOptions{.rate = 0.1, .momentum = 0.9, .nesterov = true, .weight_decay = 0.01}})
    check_optimizer(Sgd(o), true, [&](const StepFunctions& steps, int, const auto& x, auto& state) {
      const kernels::SgdStep s{static_cast<float>(o.rate), static_cast<float>(o.weight_decay),
                               static_cast<float>(o.momentum), o.nesterov};
      const kernels::SgdElements all{x, s, o.momentum == 0 ? nullptr : state[0].data()};
      steps.sgd({&all, 1}, nullptr);
    });
}

TEST_CASE("norms and clipping scales of block kernels are identical to the CPU's") {
  for (const Index n : {1, 7, 1023, 1024, 1029, 32'768, 32'769, 100'001}) {
    CAPTURE(n);
    Dice dice(static_cast<std::uint64_t>(n));
    const std::vector<float> x = step_floats(dice, n), y = step_floats(dice, 5000);
    const Mask kept = half_of(dice, n);
    const Tensor masked = registry().pack(dense_of(x), kept, Spec("masked"));
    const double of_x = squared_norm(dense_of(x), masked),
                 of_y = squared_norm(dense_of(y), dense_of(y));
    for (const bool checked : {false, true}) {
      CheckedDevice::reset(static_cast<std::uint64_t>(n));
      const StepFunctions& f = step_table(checked);
      const Index grains = ceil_div(n, kernels::squares_grain);
      std::vector<double> sums(static_cast<std::size_t>(grains) + 1);
      std::vector<std::int64_t> ends(2);
      const std::vector<kernels::SquaredElements> all{{x.data(), kept.bits.data(), n},
                                                      {y.data(), nullptr, 5000}};
      f.squares(all, sums.data(), ends.data(), nullptr);
      CHECK(ends == std::vector<std::int64_t>{grains, grains + 1});
      double norm = 0;
      float scale = 0;
      f.norm(sums.data(), ends.data(), 2, 0.5, &norm, &scale, nullptr);
      CHECK(norm == std::sqrt(of_x + of_y));
      CHECK(scale == static_cast<float>(std::min(1.0, 0.5 / (norm + 1e-6))));
      f.norm(sums.data(), ends.data(), 2, 1e9, &norm, &scale, nullptr);
      CHECK(scale == 1);
      CHECK(CheckedDevice::reports().empty());
    }
  }
}

TEST_CASE("add, average, pull, find and collect of block kernels match a loop") {
  each_size([](const StepFunctions& f, Index n) {
    Dice dice(static_cast<std::uint64_t>(n));
    const std::vector<float> x = step_floats(dice, n), w = step_floats(dice, n);
    const Mask kept = half_of(dice, n);
    std::vector<float> sum = x, mean = x, g = x, wanted[3] = {x, x, x};
    const kernels::AddedElements added{sum.data(), w.data(), n};
    f.add({&added, 1}, nullptr);
    const kernels::AveragedElements averaged{mean.data(), w.data(), n, 0.1F};
    f.average({&averaged, 1}, nullptr);
    f.pull(g.data(), w.data(), kept.bits.data(), 0.1F, n, nullptr);
    std::vector<std::uint32_t> numbers(x.size()), places(x.size());
    f.number(numbers.data(), n, nullptr);
    std::ranges::reverse(numbers);
    f.find(numbers.data(), kept.bits.data(), n, places.data(), nullptr);
    std::vector<float> back(x.size());
    f.collect(x.data(), kept.bits.data(), places.data(), n, back.data(), nullptr);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t transposed = x.size() - 1 - i;
      wanted[0][i] += w[i];
      wanted[1][i] += 0.1F * (w[i] - x[i]);
      if (!kept[static_cast<Index>(i)]) wanted[2][i] += 0.1F * w[i];
      CHECK(back[i] == (kept[static_cast<Index>(transposed)] ? x[transposed] : 0.0F));
    }
    check_same(sum, wanted[0], true);
    check_same(mean, wanted[1], true);
    check_same(g, wanted[2], true);
  });
}

TEST_CASE("batched steps, squares and averages match single ones in few kernel launches") {
  struct Weight {
    std::vector<float> w, g, m, v, mean;
    Mask kept;
    std::vector<std::uint32_t> places;
    float scale;
    bool operator==(const Weight& o) const {
      return w == o.w && m == o.m && v == o.v && mean == o.mean;
    }
  };
  Dice dice(7);
  std::vector<Weight> first;
  for (int k = 0; k < 150; ++k) {
    // One tensor is empty, and some take more than one block.
    const Index n = k == 3 ? 0 : k % 50 == 7 ? 70'000 : 1 + dice.below(300);
    const auto floats = [&] { return step_floats(dice, n); };
    Weight x{floats(), floats(), floats(), floats(), floats(), half_of(dice, n), {}, 0.5F + k};
    for (float& v : x.v) v = std::abs(v);
    for (Index i = 0; i < n; ++i)
      x.places.push_back(static_cast<std::uint32_t>(dice.below(static_cast<Index>(n) + 1)));
    first.push_back(std::move(x));
  }
  // With and without a mask, offsets and a scale.
  const auto elements = [](Weight& x, std::size_t k) {
    return kernels::StepElements{x.w.data(),
                                 std::ssize(x.w),
                                 x.g.data(),
                                 k % 3 == 1 ? x.kept.bits.data() : nullptr,
                                 k % 3 == 2 ? x.places.data() : nullptr,
                                 k % 2 == 1 ? &x.scale : nullptr};
  };
  const auto run = [&](const StepFunctions& f, std::vector<Weight>& all, bool together,
                       std::vector<double>& sums, std::vector<std::int64_t>& ends) {
    std::vector<kernels::AdamWElements> adamw;
    std::vector<kernels::SgdElements> sgd;
    std::vector<kernels::AveragedElements> averaged;
    std::vector<kernels::SquaredElements> squared;
    for (std::size_t k = 0; k < all.size(); ++k) {
      Weight& x = all[k];
      const auto t = static_cast<float>(k + 1);
      adamw.push_back(
          {elements(x, k), {0.01F / t, 0.1F, 1 / t, 1e-8F, 0.1F, 0.01F}, x.m.data(), x.v.data()});
      sgd.push_back(
          {elements(x, k), {0.1F / t, 0.01F, 0.9F, k % 4 == 0}, k % 5 == 0 ? nullptr : x.m.data()});
      averaged.push_back({x.mean.data(), x.w.data(), std::ssize(x.w), 1 / t});
      if (!x.w.empty())
        squared.push_back({x.w.data(), k % 3 == 1 ? x.kept.bits.data() : nullptr, std::ssize(x.w)});
    }
    if (together) {
      f.adamw(adamw, nullptr);
      f.sgd(sgd, nullptr);
      f.average(averaged, nullptr);
      return f.squares(squared, sums.data(), ends.data(), nullptr);
    }
    for (const auto& x : adamw) f.adamw({&x, 1}, nullptr);
    for (const auto& x : sgd) f.sgd({&x, 1}, nullptr);
    for (const auto& x : averaged) f.average({&x, 1}, nullptr);
    std::int64_t end = 0;
    for (std::size_t k = 0; k < squared.size(); ++k) {
      f.squares({&squared[k], 1}, sums.data() + end, nullptr, nullptr);
      ends[k] = end += ceil_div(squared[k].n, kernels::squares_grain);
    }
  };
  std::vector<double> wanted_sums(400), sums(400);
  std::vector<std::int64_t> wanted_ends(149), ends(149);
  std::vector<Weight> wanted = first;
  run(step_table(false), wanted, false, wanted_sums, wanted_ends);
  CHECK(!(wanted == first));
  CheckedDevice::reset(1);
  const StepFunctions counted = kernels::step_functions<CountingGrid>();
  CountingGrid::launches() = 0;
  for (const StepFunctions& f : {step_table(true), counted}) {
    std::vector<Weight> got = first;
    run(f, got, true, sums, ends);
    CHECK(got == wanted);
    CHECK(sums == wanted_sums);
    CHECK(ends == wanted_ends);
  }
  CHECK(CheckedDevice::reports().empty());
  CHECK(CountingGrid::launches() <= 14);  // 4, 3, 2 and 2, and some more for large kernels
  // Norms of more tensors than a block has threads.
  std::vector<std::int64_t> each(300);
  for (std::size_t k = 0; k < each.size(); ++k) each[k] = static_cast<std::int64_t>(k + 1);
  double norm = 0, squares = 0;
  for (std::size_t k = 0; k < each.size(); ++k) squares += sums[k];
  for (const bool checked : {false, true}) {
    step_table(checked).norm(sums.data(), each.data(), 300, 1, &norm, nullptr, nullptr);
    CHECK(norm == std::sqrt(squares));
  }
  step_table(false).norm(nullptr, nullptr, 0, 1, &norm, nullptr, nullptr);
  CHECK(norm == 0);
}
