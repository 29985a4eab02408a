// SPDX-License-Identifier: Apache-2.0
#include "kernels/bf16_attention.h"

#include <cmath>

#include "kernels/interleaved.h"
#include "kernels/panels.h"
#include "tests/kernels/fenced.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

constexpr Index key_lanes = kernels::panel_width;

using InterleavedArray = Array<std::uint16_t>;

// Interleaved panels [rows, lanes, 2]: normal values for the first `features` features, 0 for the
// others.
InterleavedArray interleaved_values(Index panels, Index rows, Index features, Index lanes,
                                    std::uint64_t seed) {
  Dice dice(seed);
  InterleavedArray all(panels * rows * lanes * 2);
  std::uint16_t* to = all.mutate();
  for (Index p = 0; p < panels; ++p)
    for (Index r = 0; r < rows; ++r)
      for (Index i = 0; i < 2 * lanes; ++i, ++to)
        *to = 2 * r + i % 2 < features ? kernels::round_to_bf16(static_cast<float>(dice.normal()))
                                       : 0;
  return all;
}

// f(table, reference, lanes) for each table of this machine but the reference.
template <class F>
void each_attention_table(F&& f) {
  for (const Index lanes : {kernels::panel_width, kernels::narrow_panel_width})
    for (const kernels::Isa isa : kernels::all_isas) {
      const kernels::Bf16AttentionTable* table = kernels::bf16_attention_for(isa, lanes);
      if (!table || isa == kernels::Isa::reference) continue;
      const std::string name = kernels::name_of(isa);
      CAPTURE(name);
      CAPTURE(lanes);
      f(*table, *kernels::bf16_attention_for(kernels::Isa::reference, lanes), lanes);
    }
}

struct Bf16AttentionHead {
  Index lanes, keys, features, v_features;
  float by = 1;
  std::vector<std::uint8_t> seen{};
  Array<float> bias{};
  Index bias_step = lanes;
  Index before = keys;  // number of keys that the first query sees
  Index panels = (keys + key_lanes - 1) / key_lanes;
  Index k_rows = (features + 1) / 2 + 3, v_rows = (v_features + 1) / 2 + 1;
  InterleavedArray q = interleaved_values(1, (features + 31) / 32 * 16, features, lanes, 1);
  InterleavedArray k = interleaved_values(panels, k_rows, features, key_lanes, 2);
  InterleavedArray v = interleaved_values(panels, v_rows, v_features, key_lanes, 3);

  // Feature f of key j.
  static std::uint16_t& at(InterleavedArray& x, Index rows, Index j, Index f) {
    return x.mutate()[(j / key_lanes * rows + f / 2) * 2 * key_lanes + j % key_lanes * 2 + f % 2];
  }

  // [v_features, lanes]
  Array<float> run(const kernels::Bf16AttentionTable& table) const {
    Array<float> taken_k(table.keys_size(features, keys));
    Array<float> taken_v(table.values_size(v_features, keys));
    table.take_keys(k.data(), k_rows * 2 * key_lanes, features, keys, taken_k.mutate());
    table.take_values(v.data(), v_rows * 2 * key_lanes, v_features, keys, taken_v.mutate());
    kernels::Bf16Attention a{};
    a.width = features;
    a.v_width = v_features;
    a.keys = keys;
    a.scale = by;
    a.q = q.data();
    a.k = taken_k.data();
    a.v = taken_v.data();
    a.seen = seen.empty() ? nullptr : seen.data();
    a.bias = bias.size() ? bias.data() : nullptr;
    a.bias_step = bias_step;
    a.before = before;
    Array<float> memory(table.memory_size(a));
    a.memory = memory.mutate();
    InterleavedArray interleaved((v_features + 1) / 2 * 2 * lanes);
    a.y = interleaved.mutate();
    table.attend(a);
    if (v_features % 2)
      for (Index t = 0; t < lanes; ++t)
        CHECK(interleaved[v_features / 2 * 2 * lanes + 2 * t + 1] == 0);
    Array<float> y(v_features * lanes);
    for (Index f = 0; f < v_features; ++f)
      for (Index t = 0; t < lanes; ++t)
        y.mutate()[f * lanes + t] =
            kernels::widen_bf16(interleaved[f / 2 * 2 * lanes + 2 * t + f % 2]);
    return y;
  }
};

// A result may be rounded to the neighbour. Weights are rounded to 2^-9 of themselves; their sums
// with values below 5 differ by less than 0.01.
void check_interleaved_close(const Array<float>& got, const Array<float>& wanted) {
  REQUIRE(got.size() == wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (!(std::abs(got[i] - wanted[i]) <= 0.01f + std::ldexp(std::abs(wanted[i]), -7)))
      FAIL_CHECK("element " << i << " is " << got[i] << ", not " << wanted[i]);
}

}  // namespace

TEST_CASE("bf16 attention matches the reference for any number of keys and features") {
  each_attention_table([](const kernels::Bf16AttentionTable& table,
                          const kernels::Bf16AttentionTable& reference, Index lanes) {
    for (const Index keys : {1, 3, 31, 32, 33, 65, 130, 600})
      for (const Index features : {1, 5, 16, 40, 64})
        for (const float by : {0.2f, -0.2f, 3.0f}) {
          CAPTURE(keys);
          CAPTURE(features);
          CAPTURE(by);
          const Bf16AttentionHead head{lanes, keys, features, features + 2, by};
          check_interleaved_close(head.run(table), head.run(reference));
        }
  });
}

TEST_CASE("bf16 attention ignores masked keys, even if they are NaN or infinity") {
  each_attention_table([](const kernels::Bf16AttentionTable& table,
                          const kernels::Bf16AttentionTable& reference, Index lanes) {
    for (const Index hidden : {0, 70}) {  // the first keys
      Bf16AttentionHead head{lanes, 140, 8, 8};
      head.seen.assign(140, 1);
      std::fill_n(head.seen.begin(), hidden, 0);
      head.seen[100] = 0;
      const Array<float> wanted = head.run(reference);
      Bf16AttentionHead::at(head.k, head.k_rows, 100, 3) = 0x7fc0;
      if (hidden > 0) Bf16AttentionHead::at(head.k, head.k_rows, 3, 0) = 0x7f80;
      // Values after the last key are ignored too.
      Bf16AttentionHead::at(head.k, head.k_rows, 150, 2) = 0x7fc0;
      Bf16AttentionHead::at(head.v, head.v_rows, 141, 5) = 0x7fc0;
      check_interleaved_close(head.run(table), wanted);
    }
  });
}

TEST_CASE("bf16 attention adds a bias per key or per query and key") {
  each_attention_table([](const kernels::Bf16AttentionTable& table,
                          const kernels::Bf16AttentionTable& reference, Index lanes) {
    for (const Index step : {Index{1}, lanes}) {
      CAPTURE(step);
      Bf16AttentionHead head{lanes, 130, 8, 8, 0.3f};
      Dice dice(4);
      head.bias = Array<float>(130 * step);
      for (float& b : std::span(head.bias.mutate(), head.bias.size()))
        b = static_cast<float>(dice.normal());
      head.bias_step = step;
      // Some keys of the first panel and all of the second are hidden from all, or the first query.
      for (Index key = 40; key < 128; ++key)
        head.bias.mutate()[key * step] = key % 2 ? -INFINITY : std::numeric_limits<float>::lowest();
      check_interleaved_close(head.run(table), head.run(reference));
    }
  });
}

TEST_CASE(
    "bf16 attention is the mean of values under lowest-float biases and 0 under -inf biases") {
  each_attention_table([](const kernels::Bf16AttentionTable& table,
                          const kernels::Bf16AttentionTable&, Index lanes) {
    Bf16AttentionHead head{lanes, 70, 3, 1, 0.3f};
    head.bias = Array<float>(70);
    head.bias_step = 1;
    std::fill_n(head.bias.mutate(), 70, std::numeric_limits<float>::lowest());
    double mean = 0;
    for (Index key = 0; key < 70; ++key)
      mean += kernels::widen_bf16(Bf16AttentionHead::at(head.v, head.v_rows, key, 0)) / 70.0;
    CHECK(std::abs(head.run(table)[5] - mean) < 0.01);
    std::fill_n(head.bias.mutate(), 70, -INFINITY);
    CHECK(head.run(table)[5] == 0);
  });
}

TEST_CASE("causal bf16 attention matches the reference and is 0 for queries without keys") {
  each_attention_table([](const kernels::Bf16AttentionTable& table,
                          const kernels::Bf16AttentionTable& reference, Index lanes) {
    for (const Index keys : {1, 64, 90, 200})
      for (const Index before : {-70, -3, 0, 1, 40, 64, 100, 137}) {
        CAPTURE(keys);
        CAPTURE(before);
        Bf16AttentionHead head{lanes, keys, 6, 7};
        head.before = before;
        if (keys == 200) head.seen.assign(200, 1), std::fill_n(head.seen.begin(), 30, 0);
        const Array<float> y = head.run(table);
        check_interleaved_close(y, head.run(reference));
        const Index none = std::min(lanes, (head.seen.empty() ? 0 : 30) + 1 - before);
        for (Index t = 0; t < none; ++t) REQUIRE(y[t] == 0);
      }
  });
}

TEST_CASE("bf16 attention matches the reference if late keys have far larger scores") {
  each_attention_table([](const kernels::Bf16AttentionTable& table,
                          const kernels::Bf16AttentionTable& reference, Index lanes) {
    for (const float by : {20.0f, 300.0f})
      for (const Index keys : {100, 700}) {
        Bf16AttentionHead head{lanes, keys, 4, 6, by};
        for (Index f = 0; f < 4; ++f)
          for (Index t = 0; t < lanes; ++t)
            head.q.mutate()[f / 2 * 2 * lanes + 2 * t + f % 2] = kernels::round_to_bf16(1);
        for (Index f = 0; f < 4; ++f)
          for (const Index key : {keys - 1, keys - 20})
            Bf16AttentionHead::at(head.k, head.k_rows, key, f) = kernels::round_to_bf16(8);
        check_interleaved_close(head.run(table), head.run(reference));
      }
  });
}

TEST_CASE("equal queries have identical bf16 attention in every lane of a panel") {
  each_attention_table([](const kernels::Bf16AttentionTable& table,
                          const kernels::Bf16AttentionTable&, Index lanes) {
    Bf16AttentionHead head{lanes, 70, 8, 8};
    for (Index f = 0; f < 8; ++f)
      for (Index t = 0; t < lanes; ++t)
        head.q.mutate()[f / 2 * 2 * lanes + 2 * t + f % 2] = head.q[f / 2 * 2 * lanes + f % 2];
    const Array<float> y = head.run(table);
    for (std::size_t i = 0; i < y.size(); ++i) REQUIRE(y[i] == y[i / lanes * lanes]);
  });
}
