// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/product/bf16_small_batch.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "kernels/interleaved.h"
#include "libsten/compute/product/nmg_bf16.h"
#include "tests/kernels/fenced.h"
#include "tests/product/sparse_tensors.h"
#include "tests/support/sanitized.h"

using namespace sten;
using namespace sten::testing;

namespace {

using kernels::Bf16SmallBatchTable;

// Specs with the same number of values in every window of a chunk's columns.
const std::vector<std::string> even_specs{"nmg:n=1,m=4,g=4", "nmg:n=1,m=4,g=32", "nmg:n=2,m=4,g=16",
                                          "nmg:n=1,m=10,g=12"};

float rounded(float x) { return kernels::widen_bf16(kernels::round_to_bf16(x)); }

// Interleaved activations, with NaN in unused elements.
struct SmallBatchCase {
  Index features, tokens;
  std::vector<float> x;  // [features, tokens]
  Array<std::uint16_t> interleaved;

  SmallBatchCase(Dice& dice, Index k, Index n)
      : features(k), tokens(n), x(k * n), interleaved(std::max<Index>(1, interleaved_size(k, n))) {
    for (float& v : x) v = static_cast<float>(dice.normal());
    std::uint16_t* const at = interleaved.mutate();
    std::fill_n(at, interleaved_size(k, n), std::uint16_t{0});
    to_interleaved(Activations{ActivationLayout::features, k, n, x.data()},
                   InterleavedOut{k, n, at});
    const InterleavedOut out{k, n, at};
    for (Index p = 0; p < out.rows() && n; ++p)
      for (Index t = n; t < out.lanes(); ++t) out.tile(2 * p, 0)[2 * t] = 0x7fc0;
  }
  Interleaved view() const { return {features, tokens, interleaved.data()}; }
};

// Factors are rounded by at most 2^-8 of their size, and their products are summed in float32.
Index far_from_exact(const Dense& a, const SmallBatchCase& c, const std::vector<float>& y) {
  const Index m = a.extents[0], k = a.extents[1];
  const auto values = a.values.as<float>();
  const double sums = std::ldexp(static_cast<double>(k) + 8, -23);
  const double factors = std::ldexp(1, -7) + std::ldexp(1, -16);
  Index wrong = 0;
  for (Index r = 0; r < m; ++r)
    for (Index t = 0; t < c.tokens; ++t) {
      double sum = 0, size = 0, of_rounded = 0;
      for (Index i = 0; i < k; ++i) {
        const float v = values[r * k + i], x = c.x[i * c.tokens + t];
        const double term = static_cast<double>(v) * x;
        sum += term, size += std::abs(term);
        of_rounded += static_cast<double>(rounded(v)) * rounded(x);
      }
      const double got = y[r * c.tokens + t];
      wrong += !(std::abs(got - sum) <= (factors + sums) * size);
      wrong += !(std::abs(got - of_rounded) <= 1.01 * sums * size);
    }
  return wrong;
}

std::vector<float> product_of(const Tensor& a, const SmallBatchCase& c) {
  std::vector<float> y(a.shape()[0] * c.tokens);
  bf16_small_batch_product(
      a, c.view(), ActivationsOut{ActivationLayout::features, a.shape()[0], c.tokens, y.data()});
  return y;
}

Tensor some_weight(Dice& dice, const std::string& spec, Index m, Index k) {
  const Dense x = normals(dice, {m, k});
  return spec == "dense" ? Tensor(x) : sparse_tensor(dice, x, Spec::parse(spec));
}

// Adds strips of row blocks in a slab, sorted or interleaved, to y[rows][tokens].
void add_strips(const NmgPacked& order, const kernels::NmgSlabStrips& of, Index slab, Index block,
                Index blocks, const SmallBatchCase& c, const float* x, Index width,
                std::vector<float>& y) {
  const Index m = order.m, n = order.n, count = order.pattern_count;
  Index strip = 0;
  const auto add = [&](Index b, Index p) {
    const Index k = order.slabs[slab] + of.offsets[strip] / (kernels::panel_width * 4);
    for (Index i = 0; i < n; ++i) {
      const Index row = b * m + order.patterns[p * n + i];
      for (Index t = 0; t < c.tokens && row < order.rows; ++t)
        y[row * c.tokens + t] += of.values[strip * n + i] * x[k * width + t];
    }
    ++strip;
  };
  for (Index b = block; b < block + blocks; ++b) {
    if (of.steps < 0)
      for (Index p = 0; p < count; ++p)
        for (Index i = of.counts[(b - block) * count + p]; i > 0; --i) add(b, p);
    else
      for (Index i = 0; i < of.steps; ++i)
        for (Index p = 0; p < count; ++p) add(b, p);
  }
}

}  // namespace

TEST_CASE("bfloat16 small-batch kernels match the formula on every ISA") {
  Dice dice(21);
  for (int round = 0; round < (is_sanitized ? 20 : 60); ++round) {
    const Index m = 1 + dice.below(150), k = 1 + dice.below(round % 5 ? 200 : 700),
                n = 1 + dice.below(bf16_max_small_batch);
    const Dense values = normals(dice, {m, k});
    const double keep = dice.one_of(std::vector<double>{0, 0.01, 0.1, 0.5, 0.8});
    const bool dense = round % 4 == 0, even = round % 4 == 1;
    const Tensor a =
        dense  ? Tensor(values)
        : even ? sparse_tensor(dice, values, Spec::parse(dice.one_of(even_specs)))
               : registry().pack(values, random_mask(dice, values.extents, keep), Spec("csr"));
    const Dense exact = a.to_dense();
    const SmallBatchCase c(dice, k, n);
    const auto tiles = bf16_weight_tiles(a);
    const auto of_rows = bf16_weight_rows(a);
    const auto lanes = bf16_weight_lanes(a), far = bf16_weight_lanes(a, true);
    if (keep < 0.05 && !dense && !even) CHECK_FALSE(lanes->is_narrow);
    // Each block writes its results to memory that ends after its last row.
    const Index parts = ceil_div(n, kernels::bf16_most_tokens);
    const auto check = [&](const char* what, Index tokens, auto&& multiply) {
      std::vector<float> y(m * n);
      for (Index b = 0; b < tiles->blocks(); ++b) {
        const Index rows = tiles->groups_of(b) * kernels::bf16_tile_rows,
                    unused = (kernels::bf16_block_rows - rows) * kernels::bf16_most_tokens;
        Fenced<float> sums(tokens * kernels::bf16_block_rows - unused);
        multiply(b, sums.data());
        const std::vector<float> all = sums.values();
        for (Index r = 0; r < std::min(rows, m - b * kernels::bf16_block_rows); ++r)
          for (Index t = 0; t < n; ++t)
            y[(b * kernels::bf16_block_rows + r) * n + t] =
                all[t / kernels::bf16_most_tokens * kernels::bf16_block_sums +
                    r * kernels::bf16_most_tokens + t % kernels::bf16_most_tokens];
      }
      CHECK_MESSAGE(far_from_exact(exact, c, y) == 0, what, " ", m, " ", k, " ", n, " ", keep);
    };
    const Index most = kernels::bf16_most_tokens;
    const Interleaved view = c.view();
    for (const kernels::Isa isa : kernels::all_isas) {
      const Bf16SmallBatchTable* table = kernels::bf16_small_batch_for(isa);
      CHECK((table != nullptr) == kernels::has_isa(isa));
      if (!table) continue;
      Array<float> room =
          Array<float>::uninitialized(kernels::bf16_small_batch_scratch(view.rows(), n));
      // Neighbouring groups, instead of groups a quarter of the matrix apart.
      check(kernels::name_of(isa), parts * most, [&](Index b, float* sums) {
        kernels::Bf16Rows groups{{}, tiles->groups_of(b), of_rows->columns()};
        for (Index g = 0; g < groups.count; ++g)
          groups.groups[g] = of_rows->group(b * kernels::bf16_block_groups + g);
        for (Index p = 0; p < parts; ++p) {
          const kernels::Bf16SmallBatch x{view.tile(0, p * most), view.stride(), view.rows(),
                                          std::min(most, n - p * most)};
          table->prepare_rows(x, room.mutate());
          table->multiply_rows(groups, x, room.data(), sums + p * kernels::bf16_block_sums);
        }
      });
      check(kernels::name_of(isa), parts * most, [&](Index b, float* sums) {
        for (Index p = 0; p < parts; ++p) {
          const kernels::Bf16SmallBatch x{view.tile(0, p * most), view.stride(), view.rows(),
                                          std::min(most, n - p * most)};
          table->prepare_tiles(x, room.mutate());
          table->multiply_tiles(tiles->block(b), x, room.data(),
                                sums + p * kernels::bf16_block_sums);
        }
      });
      const kernels::Bf16SmallBatch x{view.at, view.stride(), view.rows(), n};
      for (const auto& packed : {lanes, far}) {
        if (packed == far && table->looks_up(n, far->is_narrow)) continue;
        table->prepare_lanes(x, packed->is_narrow, room.mutate());
        check(kernels::name_of(isa), parts * most, [&](Index b, float* sums) {
          kernels::Bf16Lanes of[kernels::bf16_block_groups];
          const Index groups = tiles->groups_of(b);
          for (Index g = 0; g < groups; ++g)
            of[g] = packed->group(b * kernels::bf16_block_groups + g);
          table->multiply_lanes(of, groups, x, room.data(), sums);
        });
      }
    }
  }
}

TEST_CASE("n:m:g weights have narrow lanes; rare csr entries have wide far lanes of fewer steps") {
  Dice dice(28);
  const Index m = 64, k = 768;
  const Dense x = normals(dice, {m, k});
  const Tensor even = sparse_tensor(dice, x, Spec::parse("nmg:n=1,m=4,g=4"));
  for (const bool far : {false, true}) CHECK(bf16_weight_lanes(even, far)->is_narrow);
  const Tensor rare = registry().pack(x, random_mask(dice, {m, k}, 0.05), Spec("csr"));
  const auto far = bf16_weight_lanes(rare, true);
  CHECK_FALSE(far->is_narrow);
  CHECK(std::ssize(bf16_weight_lanes(rare)->advance) > 1.1 * std::ssize(far->advance));
}

TEST_CASE("bfloat16 n:m:g weights with n > 1, widened to float32, match the formula on every ISA") {
  Dice dice(29);
  for (int round = 0; round < (is_sanitized ? 15 : 40); ++round) {
    const std::string spec = dice.one_of(
        std::vector<std::string>{"nmg:n=2,m=4,g=16", "nmg:n=2,m=4,g=60", "nmg:n=2,m=3,g=2",
                                 "nmg:n=2,m=5,g=1", "nmg:n=3,m=6,g=2"});
    const Index m = 1 + dice.below(200), k = 1 + dice.below(700),
                n = 1 + dice.below(bf16_max_small_batch), width = kernels::bf16_width(n);
    const Tensor a = sparse_tensor(dice, normals(dice, {m, k}), Spec::parse(spec));
    const SmallBatchCase c(dice, k, n);
    const Interleaved view = c.view();
    const NmgBf16& packed = *nmg_bf16(a);
    const NmgPacked& order = packed.order;
    const Dense exact = a.to_dense();
    const kernels::Bf16SmallBatch x{view.at, view.stride(), view.rows(), n};
    for (const kernels::Isa isa : kernels::all_isas) {
      const Bf16SmallBatchTable* table = kernels::bf16_small_batch_for(isa);
      if (!table) continue;
      Array<float> rows(2 * view.rows() * width);
      table->widen_tokens(x, rows.mutate());
      Index wrong = 0;
      for (Index i = 0; i < k; ++i)
        for (Index t = 0; t < width; ++t)
          wrong += rows[i * width + t] != (t < n ? rounded(c.x[i * n + t]) : 0);
      CHECK_MESSAGE(wrong == 0, kernels::name_of(isa), " ", k, " ", n);
      // The widened weight is multiplied strip by strip.
      std::vector<float> y(m * n);
      for (Index s = 0; s < order.slab_count(); ++s)
        for (Index b = 0; b < order.row_blocks; b += packed.unit) {
          const Index blocks = std::min(packed.unit, order.row_blocks - b),
                      strips = blocks * order.slab_rows(s);
          Array<std::uint16_t> offsets(kernels::bf16_strip_room(strips));
          Array<float> values(kernels::bf16_value_room(strips * order.n));
          const Index first = packed.first[s * packed.units() + b / packed.unit];
          const Index bytes =
              kernels::bf16_strip_room(strips) + 2 * kernels::bf16_value_room(strips * order.n);
          Fenced<std::uint8_t> stream(std::vector<std::uint8_t>(
              packed.stream.begin() + first, packed.stream.begin() + first + bytes));
          table->widen_strips({stream.data(), strips, strips * order.n}, offsets.mutate(),
                              values.mutate());
          kernels::NmgSlabStrips of = order.strips(s, b);
          of.offsets = offsets.data();
          of.values = values.data();
          add_strips(order, of, s, b, blocks, c, rows.data(), width, y);
        }
      CHECK_MESSAGE(far_from_exact(exact, c, y) == 0, kernels::name_of(isa), " ", spec, " ", m, " ",
                    k, " ", n);
    }
  }
}

TEST_CASE("bfloat16 small-batch products match the formula for every layout and number of tokens") {
  Dice dice(23);
  std::vector<std::string> specs = sparse_specs;
  specs.push_back("dense");
  for (const std::string& spec : specs)
    for (int round = 0; round < 6; ++round) {
      const Index m = 1 + dice.below(round < 4 ? 90 : 400), k = 1 + dice.below(150),
                  n = round == 0 ? 1 : 1 + dice.below(bf16_max_small_batch);
      const Tensor a = some_weight(dice, spec, m, k);
      const SmallBatchCase c(dice, k, n);
      const std::vector<float> y = product_of(a, c);
      CHECK_MESSAGE(far_from_exact(a.to_dense(), c, y) == 0, spec, " ", m, " ", k, " ", n);
      const Threads three(3);
      CHECK(product_of(a, c) == y);
    }
}

TEST_CASE("small-batch products of BF16 and F16 weights equal those of F32 weights") {
  Dice dice(24);
  const Index m = 70, k = 90, n = 3;
  const SmallBatchCase c(dice, k, n);
  for (const char* spec : {"csr", "dense"}) {
    const Tensor a = some_weight(dice, spec, m, k);
    const auto from = a.values()->as<float>();
    Values bf16 = Values::uninitialized(DType::BF16, from.size());
    for (std::size_t i = 0; i < from.size(); ++i)
      bf16.mutate<std::uint16_t>()[i] = kernels::round_to_bf16(from[i]);
    CHECK(product_of(a.with_values(bf16), c) == product_of(a, c));
    // Values that float16 and bfloat16 can represent.
    Values halves = Values::uninitialized(DType::F16, from.size()),
           floats = Values::uninitialized(DType::F32, from.size());
    for (std::size_t i = 0; i < from.size(); ++i) {
      const auto bits = static_cast<std::uint16_t>(0x3c00 + (i % 7 << 7) + (i % 2 << 15));
      halves.mutate<std::uint16_t>()[i] = bits;
      floats.mutate<float>()[i] = kernels::decode_f16_bits(bits);
    }
    CHECK(product_of(a.with_values(halves), c) == product_of(a.with_values(floats), c));
  }
}

TEST_CASE("bfloat16 small-batch products apply the epilogue in every output layout") {
  Dice dice(25);
  const Index m = 75, k = 40;
  for (const std::string form : {"csr", "dense", "1:4:4"})
    for (const Index n : {1, 7, 16, 20, 32})
      for (const float scale : {1.0f, 0.5f}) {
        const Tensor a = some_weight(dice, form, m, k);
        const SmallBatchCase c(dice, k, n);
        const std::vector<float> plain = product_of(a, c);
        const std::vector<float> bias = floats(normals(dice, {m})),
                                 added = floats(normals(dice, {m * n}));
        std::vector<float> wanted(m * n);
        for (Index i = 0; i < m * n; ++i)
          wanted[i] = std::max(0.0f, scale * plain[i] + bias[i / n] + rounded(added[i]));
        Array<std::uint16_t> residual(interleaved_size(m, n)), out(interleaved_size(m, n));
        to_interleaved(Activations{ActivationLayout::features, m, n, added.data()},
                       InterleavedOut{m, n, residual.mutate()});
        std::vector<float> rows(m * n);
        from_interleaved({m, n, residual.data()}, {ActivationLayout::features, m, n, rows.data()});
        const auto relu = kernels::Activation::relu;
        for (const ActivationLayout layout :
             {ActivationLayout::features, ActivationLayout::tokens, ActivationLayout::narrow_panel,
              ActivationLayout::panels}) {
          if (layout == ActivationLayout::narrow_panel && n > narrow_panel_width) continue;
          const Index size =
              layout == ActivationLayout::narrow_panel ? m * narrow_panel_width : panels_size(m, n);
          Array<float> y(size), other(size);
          const auto place = [&](Index r, Index t) {
            if (layout == ActivationLayout::features) return r * n + t;
            if (layout == ActivationLayout::tokens) return t * m + r;
            return r * (layout == ActivationLayout::narrow_panel ? narrow_panel_width
                                                                 : panel_width) +
                   t;
          };
          for (Index i = 0; i < m * n; ++i) other.mutate()[place(i / n, i % n)] = rows[i];
          bf16_small_batch_product(a, c.view(), ActivationsOut{layout, m, n, y.mutate()},
                                   Epilogue{scale, bias.data(), other.data(), relu});
          Index wrong = 0;
          for (Index i = 0; i < m * n; ++i)
            wrong += !(std::abs(y[place(i / n, i % n)] - wanted[i]) <= 1e-5f);
          CHECK_MESSAGE(wrong == 0, n, " ", static_cast<int>(layout));
        }
        // Interleaved output over old values, including padding.
        std::fill_n(out.mutate(), out.size(), std::uint16_t{0x7fc0});
        bf16_small_batch_product(a, c.view(), InterleavedOut{m, n, out.mutate()},
                                 InterleavedEpilogue{scale, bias.data(), residual.data(), relu});
        std::vector<float> back(m * n);
        from_interleaved({m, n, out.data()}, {ActivationLayout::features, m, n, back.data()});
        Index wrong = 0;
        for (Index i = 0; i < m * n; ++i)
          wrong += !(std::abs(back[i] - wanted[i]) <= std::ldexp(wanted[i], -8) + 1e-5f);
        const InterleavedOut view{m, n, out.mutate()};
        for (Index t = 0; t < n; ++t) wrong += view.tile(m - 1, 0)[2 * t + 1] != 0;  // m is odd
        CHECK_MESSAGE(wrong == 0, n);
      }
}

TEST_CASE("an infinity or NaN of a weight affects only its row of a small-batch product") {
  Dice dice(26);
  const Index m = 70, k = 100;
  for (const Index n : {1, 2, 16})
    for (const char* spec : {"csr", "dense", "nmg:n=1,m=4,g=3"}) {
      const Tensor a = some_weight(dice, spec, m, k);
      SmallBatchCase c(dice, k, n);
      const std::vector<float> before = product_of(a, c);
      Dense dense = a.to_dense();
      Index row = 0, at = 0;
      const auto first = dense.values.as<float>();
      for (; at < m * k && first[at] == 0; ++at) {
      }
      if (at == m * k) continue;
      row = at / k;
      const float value = first[at];
      for (const float special :
           {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
        const Tensor b = Tensor::update(a, [&](Values& v) {
          for (float& x : v.mutate<float>())
            if (x == value) x = special;
        });
        const std::vector<float> y = product_of(b, c);
        for (Index i = 0; i < m * n; ++i)
          if (i / n == row)
            CHECK(!std::isfinite(y[i]));
          else
            CHECK(y[i] == before[i]);
      }
    }
}

TEST_CASE("bfloat16 small-batch products accept empty extents and reject mismatched operands") {
  Dice dice(27);
  for (const char* spec : {"csr", "dense"})
    for (const Index m : {0, 5})
      for (const Index k : {0, 6})
        for (const Index n : {0, 1, 20}) {
          if (m && k && n) continue;
          const Tensor a = some_weight(dice, spec, m, k);
          const SmallBatchCase c(dice, k, n);
          const std::vector<float> bias(5, 2.0f);
          std::vector<float> y(m * n, -1.0f);
          bf16_small_batch_product(a, c.view(),
                                   ActivationsOut{ActivationLayout::features, m, n, y.data()},
                                   Epilogue{1, bias.data()});
          CHECK(std::ranges::count(y, 2.0f) == m * n);
        }
  const Tensor a = some_weight(dice, "csr", 5, 6);
  float y[5 * 33];
  const SmallBatchCase many(dice, 6, 33), other(dice, 7, 1), right(dice, 6, 1);
  const auto error = [&](const Tensor& w, const SmallBatchCase& c, Index features, Index tokens) {
    return error_of([&] {
      bf16_small_batch_product(w, c.view(),
                               ActivationsOut{ActivationLayout::features, features, tokens, y});
    });
  };
  CHECK(has(error(a, many, 5, 33), "expected at most 32 tokens, got 33"));
  CHECK(has(error(a, other, 5, 1), "[5, 6] times 7 features"));
  CHECK(has(error(a, right, 4, 1), "does not give 4 features of 1 tokens"));
  CHECK(has(error(Tensor(Dense::zeros(DType::I32, {5, 6})), right, 5, 1),
            "must be F32, BF16 or F16"));
}
