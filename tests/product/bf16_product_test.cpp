// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/product/bf16_product.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "libsten/compute/product/bf16_packed.h"
#include "libsten/core/layout/compressed.h"
#include "libsten/core/registry/route.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

// A weight in which 16 * tiles rows share the kept features: 1 of `of` pairs, or all if `of` is 1.
Dense tiled_weight(Index rows, Index cols, Index tiles, Index of, DType dtype, Dice& dice) {
  Dense a = Dense::zeros(dtype, {rows, cols});
  std::vector<bool> keeps;
  for (Index r = 0; r < rows; ++r) {
    if (r % (16 * tiles) == 0) {
      keeps.clear();
      for (Index k = 0; k < cols; k += 2) keeps.push_back(dice.below(of) == 0);
    }
    for (Index k = 0; k < cols; ++k) {
      if (!keeps[k / 2]) continue;
      const auto v = static_cast<float>(dice.normal());
      if (dtype == DType::F32)
        a.values.mutate<float>()[r * cols + k] = v;
      else
        a.values.mutate<std::uint16_t>()[r * cols + k] = kernels::round_to_bf16(v);
    }
  }
  return a;
}
double value_of(const Dense& a, Index i) {
  return a.dtype() == DType::F32 ? a.values.as<float>()[i]
                                 : kernels::widen_bf16(a.values.as<std::uint16_t>()[i]);
}

// A weight and activations, multiplied in a given activation layout.
struct Bf16Case {
  Index rows, cols, tokens;
  Dense a;
  Tensor weight;
  Array<float> x;  // [cols, tokens]

  Bf16Case(Index m, Index k, Index n, Index tiles, Index of, DType dtype, std::uint64_t seed)
      : rows(m), cols(k), tokens(n), a(), weight(Dense()), x(k * n) {
    Dice dice(seed);
    a = tiled_weight(m, k, tiles, of, dtype, dice);
    weight = of > 1 ? convert(a, Spec(Csr::name)) : Tensor(a);
    for (std::size_t i = 0; i < x.size(); ++i) x.mutate()[i] = static_cast<float>(dice.normal());
  }

  Array<float> product(ActivationLayout layout) const {
    Array<float> in = x, out(rows * tokens);
    if (layout == ActivationLayout::tokens)
      for (Index t = 0; t < tokens; ++t)
        for (Index k = 0; k < cols; ++k) in.mutate()[t * cols + k] = x[k * tokens + t];
    bf16_product(weight, Activations{layout, cols, tokens, in.data()},
                 ActivationsOut{layout, rows, tokens, out.mutate()});
    return out;
  }
};

}  // namespace

TEST_CASE("bfloat16 products of any shape are within their rounding bound") {
  Dice dice(7);
  const std::vector<Index> extents{0, 1, 2, 3, 15, 16, 17, 31, 32, 33, 47, 63, 64, 65, 70, 130};
  for (int i = 0; i < 500; ++i) {
    const Index m = dice.one_of(extents), k = dice.one_of(extents), n = dice.one_of(extents);
    const Index tiles = 1 + dice.below(3), of = 1 + 2 * dice.below(3);
    const bool by_tokens = dice.below(2);
    const DType dtype = dice.below(2) ? DType::F32 : DType::BF16;
    CAPTURE(m);
    CAPTURE(k);
    CAPTURE(n);
    CAPTURE(tiles);
    CAPTURE(of);
    const Bf16Case c(m, k, n, tiles, of, dtype, i);
    const Array<float> y =
        c.product(by_tokens ? ActivationLayout::tokens : ActivationLayout::features);
    for (Index r = 0; r < m; ++r)
      for (Index t = 0; t < n; ++t) {
        double sum = 0, size = 0;
        for (Index j = 0; j < k; ++j) {
          const double p = value_of(c.a, r * k + j) * c.x[j * n + t];
          sum += p, size += std::abs(p);
        }
        const double rounding = std::ldexp(1, -7) + std::ldexp(1, -16);
        const double summing = std::ldexp(static_cast<double>(k + 2), -24) * 1.01;
        REQUIRE(std::abs(y[by_tokens ? t * m + r : r * n + t] - sum) <=
                size * (rounding + summing));
      }
  }
}

TEST_CASE("bfloat16 products over several slabs and bands of rows match the formula") {
  for (const Index of : {1, 4}) {
    const Index m = 1700, k = 3100, n = 70;
    const Bf16Case c(m, k, n, 2, of, DType::BF16, of);
    REQUIRE(pack_bf16(c.weight).slab_count() == 2);
    Array<std::uint16_t> x(interleaved_size(k, n));
    to_interleaved(Activations{ActivationLayout::features, k, n, c.x.data()},
                   InterleavedOut{k, n, x.mutate()});
    Array<float> packed(m * n);
    bf16_product(c.weight, Interleaved{k, n, x.data()},
                 ActivationsOut{ActivationLayout::features, m, n, packed.mutate()});
    const Array<float> y = c.product(ActivationLayout::features);
    CHECK(std::equal(y.begin(), y.end(), packed.begin()));
    Dice dice(2);
    for (int i = 0; i < 1000; ++i) {
      const Index r = dice.below(m), t = dice.below(n);
      double sum = 0, size = 0;
      for (Index j = 0; j < k; ++j) {
        const double p =
            value_of(c.a, r * k + j) * kernels::widen_bf16(kernels::round_to_bf16(c.x[j * n + t]));
        sum += p, size += std::abs(p);
      }
      REQUIRE(std::abs(y[r * n + t] - sum) <= size * std::ldexp(static_cast<double>(k + 2), -24));
    }
  }
}

TEST_CASE("interleaved outputs get the epilogue of float32 sums on any number of threads") {
  for (const Index of : {1, 4})
    for (const Index m : {5, 70, 320})
      for (const Index n : {1, 3, 16, 40, 200}) {
        CAPTURE(of);
        CAPTURE(m);
        CAPTURE(n);
        const Index k = 300;
        const Bf16Case c(m, k, n, 2, of, DType::F32, m + n);
        Dice dice(m * n);
        Array<std::uint16_t> x(interleaved_size(k, n)), residual(interleaved_size(m, n));
        to_interleaved(Activations{ActivationLayout::features, k, n, c.x.data()},
                       InterleavedOut{k, n, x.mutate()});
        Array<float> added(m * n), bias(m), sums(m * n);
        for (std::size_t i = 0; i < added.size(); ++i)
          added.mutate()[i] = static_cast<float>(dice.normal());
        for (Index i = 0; i < m; ++i) bias.mutate()[i] = static_cast<float>(dice.normal());
        to_interleaved(Activations{ActivationLayout::features, m, n, added.data()},
                       InterleavedOut{m, n, residual.mutate()});
        from_interleaved({m, n, residual.data()},
                         {ActivationLayout::features, m, n, added.mutate()});
        bf16_product(c.weight, Interleaved{k, n, x.data()},
                     ActivationsOut{ActivationLayout::features, m, n, sums.mutate()});
        const auto run = [&](int team) {
          const Threads some(team);
          Array<std::uint16_t> y = residual;  // added to itself
          bf16_product(c.weight, Interleaved{k, n, x.data()}, InterleavedOut{m, n, y.mutate()},
                       {0.5f, bias.data(), y.data(), kernels::Activation::relu});
          Array<float> wide(m * n);
          from_interleaved({m, n, y.data()}, {ActivationLayout::features, m, n, wide.mutate()});
          return wide;
        };
        const Array<float> y = run(1), other = run(3);
        for (Index i = 0; i < m * n; ++i) {
          const double wanted = std::max(0.0, 0.5 * sums[i] + bias[i / n] + added[i]);
          REQUIRE(std::abs(y[i] - wanted) <= wanted / 256 + 1e-5);
          REQUIRE(y[i] == other[i]);
        }
      }
}

TEST_CASE("features and tokens outputs get the epilogue on any number of threads") {
  for (const ActivationLayout layout : {ActivationLayout::features, ActivationLayout::tokens})
    for (const Index of : {1, 4})
      for (const Index m : {5, 48, 320})
        for (const Index n : {1, 3, 16, 40, 200}) {
          CAPTURE(static_cast<int>(layout));
          CAPTURE(of);
          CAPTURE(m);
          CAPTURE(n);
          const Index k = 300;
          const Bf16Case c(m, k, n, 2, of, DType::F32, m + n);
          const Array<float> plain = c.product(layout);
          Dice dice(m * n);
          Array<float> bias(m), residual(m * n), in = c.x;
          for (float& v : std::span(bias.mutate(), bias.size()))
            v = static_cast<float>(dice.normal());
          for (float& v : std::span(residual.mutate(), residual.size()))
            v = static_cast<float>(dice.normal());
          if (layout == ActivationLayout::tokens)
            for (Index t = 0; t < n; ++t)
              for (Index f = 0; f < k; ++f) in.mutate()[t * k + f] = c.x[f * n + t];
          for (const bool adds : {false, true})
            for (const bool stream : {false, true}) {
              const auto run = [&](int team) {
                const Threads some(team);
                Array<float> y(m * n);
                std::fill_n(y.mutate(), m * n, NAN);
                bf16_product(c.weight, Activations{layout, k, n, in.data()},
                             ActivationsOut{layout, m, n, y.mutate()},
                             Epilogue{0.5f, bias.data(), adds ? residual.data() : nullptr,
                                      kernels::Activation::relu, stream});
                return y;
              };
              const Array<float> y = run(1), other = run(3);
              for (Index i = 0; i < m * n; ++i) {
                const Index row = layout == ActivationLayout::tokens ? i % m : i / n;
                const float wanted =
                    std::max(0.0f, 0.5f * plain[i] + bias[row] + (adds ? residual[i] : 0.0f));
                REQUIRE(std::abs(y[i] - wanted) <= 1e-5f * (1 + std::abs(wanted)));
                REQUIRE(y[i] == other[i]);
              }
            }
        }
}

TEST_CASE("only rows that share their columns are packed without pruned columns") {
  Dice dice(1);
  const Dense shared = tiled_weight(128, 512, 2, 4, DType::F32, dice);
  const Bf16Packed packed = pack_bf16(convert(shared, Spec(Csr::name)));
  CHECK(packed.has_columns());
  CHECK(packed.tiles_of(0) == 2);
  CHECK(packed.values.size() < 128 * 512 / 3);
  const Bf16Packed single =
      pack_bf16(convert(tiled_weight(128, 512, 1, 4, DType::BF16, dice), Spec(Csr::name)));
  CHECK(single.has_columns());
  CHECK(single.tiles_of(0) == 1);
  Dense others = Dense::zeros(DType::F32, {128, 512});
  for (float& v : others.values.mutate<float>())
    if (dice.below(4) == 0) v = static_cast<float>(dice.normal());
  CHECK_FALSE(pack_bf16(convert(others, Spec(Csr::name))).has_columns());
}

TEST_CASE("nmgv weights are packed without pruned columns and match dense weights") {
  Dice dice(5);
  const Index m = 150, k = 270, n = 40;
  const Dense x = normals(dice, {k, n});
  const auto product_of = [&](const Tensor& w) {
    std::vector<float> y(m * n);
    bf16_product(w, Activations{ActivationLayout::features, k, n, x.values.as<float>().data()},
                 ActivationsOut{ActivationLayout::features, m, n, y.data()});
    return y;
  };
  for (const int v : {16, 32, 64})
    for (const int of : {2, 4, 8}) {
      const Spec spec = Spec::parse(fmt::format("nmgv:n=1,m={},g=2,v={}", of, v));
      CAPTURE(spec.str());
      const Tensor w = registry().prune(normals(dice, {m, k}), spec, spec);
      const Bf16Packed packed = pack_bf16(w);
      CHECK(packed.has_columns());
      CHECK(std::ssize(packed.values) < (m + 16) * (k / of + 40));  // columns come in steps of 32
      const std::vector<float> y = product_of(w), wanted = product_of(w.to_dense());
      for (Index i = 0; i < m * n; ++i) REQUIRE(std::abs(y[i] - wanted[i]) <= 1e-4);
    }
}

TEST_CASE("infinity and NaN affect only their token and the rows that use their feature") {
  Dice dice(3);
  const Index m = 64, k = 256, n = 20;
  Bf16Case c(m, k, n, 2, 4, DType::F32, 5);
  REQUIRE(pack_bf16(c.weight).has_columns());
  for (Index f = 0; f < k; ++f) c.x.mutate()[f * n] = f % 2 ? INFINITY : NAN;
  const Array<float> y = c.product(ActivationLayout::features);
  for (Index r = 0; r < m; ++r) {
    CHECK(std::isnan(y[r * n]));
    for (Index t = 1; t < n; ++t) CHECK(std::isfinite(y[r * n + t]));
  }
  // A feature that the first 32 rows do not have.
  Index absent = 0;
  while (value_of(c.a, absent) != 0) ++absent;
  for (Index f = 0; f < k; ++f) c.x.mutate()[f * n] = f == absent ? INFINITY : 1.0f;
  const Array<float> other = c.product(ActivationLayout::features);
  for (Index r = 0; r < 32; ++r) CHECK(std::isfinite(other[r * n]));
}

TEST_CASE("bf16_product rejects F16 weights and mismatched extents as usage errors") {
  const Tensor half = Dense::zeros(DType::F16, {4, 4}), weight = Dense::zeros(DType::BF16, {4, 6});
  Array<float> x(64), y(64);
  const auto product = [&](const Tensor& a, Index k, Index m, Index n) {
    return fault_of([&] {
      bf16_product(a, Activations{ActivationLayout::features, k, 4, x.data()},
                   ActivationsOut{ActivationLayout::features, m, n, y.mutate()});
    });
  };
  CHECK(product(half, 4, 4, 4) == Fault::usage);
  CHECK(product(weight, 5, 4, 4) == Fault::usage);
  CHECK(product(weight, 6, 3, 4) == Fault::usage);
  CHECK(product(weight, 6, 4, 3) == Fault::usage);
  CHECK_FALSE(product(weight, 6, 4, 4).has_value());
}
