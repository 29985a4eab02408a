// SPDX-License-Identifier: Apache-2.0
#include "kernels/panels.h"

#include <cmath>

#include "tests/kernels/fenced.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

constexpr Index key_width = kernels::panel_width;

Array<float> numbers(std::size_t n, std::uint64_t seed) {
  Dice dice(seed);
  Array<float> all(n);
  for (std::size_t i = 0; i < n; ++i) all.mutate()[i] = static_cast<float>(dice.normal());
  return all;
}

void check_close(const Array<float>& got, const Array<float>& wanted, float tolerance) {
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (!(std::abs(got[i] - wanted[i]) <= tolerance * (1 + std::abs(wanted[i]))))
      FAIL_CHECK("element " << i << " is " << got[i] << ", not " << wanted[i]);
}

// f(table, reference, lanes) for each table of this machine but the reference.
template <class F>
void each_panels_table(F&& f) {
  for (const Index lanes : {kernels::panel_width, kernels::narrow_panel_width})
    for (const kernels::Isa isa : kernels::all_isas) {
      const kernels::PanelsTable* table = kernels::panels_for(isa, lanes);
      if (!table || isa == kernels::Isa::reference) continue;
      const std::string name = kernels::name_of(isa);
      CAPTURE(name);
      CAPTURE(lanes);
      f(*table, *kernels::panels_for(kernels::Isa::reference, lanes), lanes);
    }
}

struct Head {
  Index width, keys, features, v_features;
  float by = 1;
  std::vector<std::uint8_t> seen{};
  Array<float> bias{};
  Index bias_step = width;
  Index before = keys;  // number of keys that the first query sees
  Index from = -width;  // first key that the first query sees
  float soft_cap = 0;
  Index panels = (keys + key_width - 1) / key_width;
  Index k_step = (features + 3) * key_width, v_step = (v_features + 1) * key_width;
  Array<float> q = numbers(features * width, 1), k = numbers(panels * k_step, 2);
  Array<float> v = numbers(panels * v_step, 3);

  Array<float> run(const kernels::PanelsTable& table) const {
    Array<float> y(v_features * width), scores(key_width * width);
    table.attend({features, v_features, keys, by, q.data(), k.data(), v.data(), k_step, v_step,
                  seen.empty() ? nullptr : seen.data(), y.mutate(), scores.mutate(),
                  bias.size() ? bias.data() : nullptr, bias_step, before, from, soft_cap});
    return y;
  }
};

}  // namespace

TEST_CASE("panel attention matches the reference for any number of keys and features") {
  each_panels_table(
      [](const kernels::PanelsTable& table, const kernels::PanelsTable& reference, Index width) {
        for (const Index keys : {1, 3, 63, 64, 65, 130})
          for (const Index features : {1, 5, 16})
            for (const float by : {0.3f, -0.3f, 40.0f}) {
              CAPTURE(keys);
              CAPTURE(features);
              const Head head{width, keys, features, features + 2, by};
              // Scores of up to 40 * 16 have an error of 1e-4 of a weight's exponent.
              check_close(head.run(table), head.run(reference), by > 1 ? 1e-3f : 2e-6f);
            }
      });
}

TEST_CASE("panel attention ignores masked keys, even if they are NaN or infinity") {
  each_panels_table(
      [](const kernels::PanelsTable& table, const kernels::PanelsTable& reference, Index width) {
        // All keys of the first panel are hidden.
        Head head{width, 140, 8, 8};
        head.seen.assign(140, 1);
        std::fill_n(head.seen.begin(), 70, 0);
        head.seen[100] = 0;
        const Array<float> wanted = head.run(reference);
        head.k.mutate()[3] = NAN;
        head.k.mutate()[head.k_step + 100 - key_width] = INFINITY;
        check_close(head.run(table), wanted, 2e-6f);
      });
}

TEST_CASE("panel attention adds a bias per key or per query and key") {
  each_panels_table([](const kernels::PanelsTable& table, const kernels::PanelsTable& reference,
                       Index width) {
    for (const Index step : {Index{1}, width}) {
      CAPTURE(step);
      Head head{width, 130, 8, 8, 0.3f};
      head.bias = numbers(130 * step, 4);
      head.bias_step = step;
      // Some keys of the first panel and all of the second are hidden from all, or the first query.
      for (Index key = 40; key < 128; ++key)
        head.bias.mutate()[key * step] = key % 2 ? -INFINITY : std::numeric_limits<float>::lowest();
      check_close(head.run(table), head.run(reference), 2e-6f);
    }
  });
}

TEST_CASE(
    "panel attention is the mean of values under lowest-float biases and 0 under -inf biases") {
  each_panels_table(
      [](const kernels::PanelsTable& table, const kernels::PanelsTable&, Index width) {
        Head head{width, 70, 3, 1, 0.3f};
        head.bias = Array<float>(70);
        head.bias_step = 1;
        std::fill_n(head.bias.mutate(), 70, std::numeric_limits<float>::lowest());
        double mean = 0;
        for (Index key = 0; key < 70; ++key)
          mean += head.v[key / key_width * head.v_step + key % key_width] / 70.0;
        CHECK(head.run(table)[5] == doctest::Approx(mean).epsilon(1e-5));
        std::fill_n(head.bias.mutate(), 70, -INFINITY);
        CHECK(head.run(table)[5] == 0);
      });
}

TEST_CASE("causal panel attention matches the reference and is 0 for queries without keys") {
  each_panels_table(
      [](const kernels::PanelsTable& table, const kernels::PanelsTable& reference, Index width) {
        for (const Index keys : {1, 64, 90, 200})
          for (const Index before : {-70, -3, 0, 1, 40, 64, 100, 137}) {
            CAPTURE(keys);
            CAPTURE(before);
            Head head{width, keys, 6, 7};
            head.before = before;
            if (keys == 200) head.seen.assign(200, 1), std::fill_n(head.seen.begin(), 30, 0);
            const Array<float> y = head.run(table);
            check_close(y, head.run(reference), 2e-6f);
            const Index none = std::min(width, (head.seen.empty() ? 0 : 30) + 1 - before);
            for (Index t = 0; t < none; ++t) REQUIRE(y[t] == 0);
          }
      });
}

TEST_CASE("sliding-window panel attention matches the reference") {
  each_panels_table(
      [](const kernels::PanelsTable& table, const kernels::PanelsTable& reference, Index width) {
        for (const Index from : {-70, -3, 0, 1, 40, 64, 100, 137}) {
          CAPTURE(from);
          Head head{width, 200, 6, 7};
          head.from = from;
          head.before = from + 20;
          check_close(head.run(table), head.run(reference), 2e-6f);
        }
      });
}

TEST_CASE("panel attention applies the soft cap before the bias") {
  each_panels_table(
      [](const kernels::PanelsTable& table, const kernels::PanelsTable& reference, Index width) {
        for (const float cap : {0.5f, 50.0f}) {
          CAPTURE(cap);
          Head head{width, 130, 6, 7, 3};
          head.soft_cap = cap;
          head.bias = numbers(130 * width, 4);
          check_close(head.run(table), head.run(reference), 1e-5f);
        }
      });
}

TEST_CASE("equal queries have identical panel attention in every lane") {
  each_panels_table(
      [](const kernels::PanelsTable& table, const kernels::PanelsTable&, Index width) {
        Head head{width, 70, 8, 8};
        for (Index f = 0; f < 8; ++f)
          for (Index t = 0; t < width; ++t) head.q.mutate()[f * width + t] = head.q[f * width];
        const Array<float> y = head.run(table);
        for (std::size_t i = 0; i < y.size(); ++i) REQUIRE(y[i] == y[i / width * width]);
      });
}

TEST_CASE("layer norms of panels match the reference, also far from 0 and in place") {
  each_panels_table(
      [](const kernels::PanelsTable& table, const kernels::PanelsTable& reference, Index width) {
        for (const Index n : {1, 2, 7, 64, 129})
          for (const float shift : {0.0f, 1e4f}) {
            CAPTURE(n);
            Array<float> x = numbers(n * width, 4);
            for (std::size_t i = 0; i < x.size(); ++i) x.mutate()[i] += shift;
            const Array<float> gamma = numbers(n, 5), beta = numbers(n, 6);
            Array<float> got(n * width), wanted(n * width);
            table.normalize(x.data(), n, 1e-5f, gamma.data(), beta.data(), got.mutate());
            reference.normalize(x.data(), n, 1e-5f, gamma.data(), beta.data(), wanted.mutate());
            check_close(got, wanted, 4e-6f);
            float* in_place = x.mutate();
            table.normalize(in_place, n, 1e-5f, gamma.data(), beta.data(), in_place);
            for (std::size_t i = 0; i < x.size(); ++i) REQUIRE(x[i] == got[i]);
          }
      });
}

TEST_CASE("products of a dense matrix with a panel, stored or accumulated, match the reference") {
  each_panels_table(
      [](const kernels::PanelsTable& table, const kernels::PanelsTable& reference, Index width) {
        for (const Index rows : {0, 1, 5, 6, 7, 23})
          for (const Index depth : {0, 1, 2, 65}) {
            CAPTURE(rows);
            CAPTURE(depth);
            const Index stride = depth + 3;
            const Array<float> a = numbers(rows * stride, 7), b = numbers(depth * width, 8);
            Array<float> got = numbers(rows * width, 9), wanted = numbers(rows * width, 9);
            for (const bool more : {true, false}) {
              table.multiply(a.data(), stride, rows, depth, b.data(), more, got.mutate());
              reference.multiply(a.data(), stride, rows, depth, b.data(), more, wanted.mutate());
              check_close(got, wanted, 1e-6f * static_cast<float>(depth + 1));
            }
          }
      });
}
