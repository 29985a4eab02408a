// SPDX-License-Identifier: Apache-2.0
// Products of n:m:g, compared with double within the rounding bound of float32.
// ThreadSanitizer runs these tests, too.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <limits>

#include "kernels/epilogue.h"
#include "kernels/families.h"
#include "kernels/nmg_gemm.h"
#include "kernels/nmg_small_batch.h"
#include "libsten/compute/product/nmg_packed.h"
#include "libsten/compute/product/sparse_product.h"
#include "libsten/core/registry/registry.h"
#include "tests/kernels/fenced.h"
#include "tests/product/reference.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

Tensor fitted(const Dense& x, const Spec& spec) { return registry().prune(x, spec, spec); }

struct Format {
  Index n, m, g;
};
Spec nmg(const Format& f) { return Spec("nmg").set("n", f.n).set("m", f.m).set("g", f.g); }
constexpr Format formats[] = {{1, 1, 4},  {2, 2, 3},   {1, 2, 7},  {1, 3, 2},  {1, 5, 4},
                              {2, 4, 1},  {2, 4, 16},  {1, 4, 16}, {3, 4, 2},  {1, 8, 8},
                              {1, 10, 4}, {2, 10, 1},  {1, 20, 2}, {5, 7, 1},  {7, 8, 3},
                              {9, 10, 2}, {13, 14, 1}, {1, 64, 3}, {2, 3, 100}};

}  // namespace

TEST_CASE("n:m:g products of any shape and format are within the float32 rounding bound") {
  Dice dice(1);
  for (int round = 0; round < 500; ++round) {
    const Format f = formats[round % std::size(formats)];
    const Spec spec = nmg(f);
    const Index m = dice.below(9) ? 1 + dice.below(dice.below(8) ? 50 : 200) : dice.below(3),
                k = dice.below(9) ? 1 + dice.below(dice.below(4) ? 60 : 500) : dice.below(3),
                n = dice.below(9) ? 1 + dice.below(dice.below(4) ? 60 : 150) : dice.below(3);
    const bool linear = dice.below(2);
    const Tensor t = fitted(normals(dice, {m, k}), spec);
    const Dense a = t.to_dense(), in = normals(dice, linear ? Shape{n, k} : Shape{k, n});
    const Bounds bounds = product_bounds(linear, a, in, n);
    std::vector<float> first;
    for (const int team : {1, 2, 3}) {
      const Threads scope(team);
      std::vector<float> out(m * n + 1, 7.0f);
      (linear ? sparse_linear : sparse_gemm)(t, n, in.values.as<float>().data(), out.data());
      CHECK_MESSAGE(bounds.violations(out) == 0, spec.str(), " ", m, " ", k, " ", n, " ", linear,
                    " ", team);
      CHECK(out.back() == 7.0f);
      if (team == 1) first = out;
      CHECK_MESSAGE(out == first, spec.str(), ": threads change nothing");
    }
  }
}

namespace {

// [features, tokens], row-major, in the given activation layout.
std::vector<float> laid(ActivationLayout layout, Index features, Index tokens,
                        const std::vector<float>& x) {
  std::vector<float> out(layout == ActivationLayout::panels         ? panels_size(features, tokens)
                         : layout == ActivationLayout::narrow_panel ? features * narrow_panel_width
                                                                    : features * tokens);
  const ActivationsOut to{layout, features, tokens, out.data()};
  for (Index k = 0; k < features; ++k)
    for (Index t = 0; t < tokens; ++t) {
      const Index first = t / panel_width * panel_width;
      to.tile(k, first)[(t - first) * (layout == ActivationLayout::tokens ? features : 1)] =
          x[k * tokens + t];
    }
  return out;
}

float finished(double product, const Epilogue& e, Index feature, float residual) {
  const double x = e.scale * product + (e.bias ? e.bias[feature] : 0) + residual;
  if (e.activation == kernels::Activation::relu) return static_cast<float>(std::max(x, 0.0));
  if (e.activation == kernels::Activation::gelu)
    return static_cast<float>(x / 2 * (1 + std::erf(x / std::sqrt(2.0))));
  return static_cast<float>(x);
}

}  // namespace

TEST_CASE("n:m:g products read and write every activation layout and apply the epilogue") {
  using kernels::Activation;
  Dice dice(6);
  for (int round = 0; round < 240; ++round) {
    const Format f = formats[round % std::size(formats)];
    const Index m = 1 + dice.below(40), k = dice.below(9) ? 1 + dice.below(200) : 0,
                n = 1 + dice.below(dice.below(2) ? 10 : 200);
    const Tensor t = fitted(normals(dice, {m, k}), nmg(f));
    const Dense a = t.to_dense(), in = normals(dice, {k, n});
    const auto product = formula(false, a, in, n, false), sizes = formula(false, a, in, n, true);
    const std::vector<float> bias = floats(normals(dice, {m})),
                             residual = floats(normals(dice, {m, n}));
    Epilogue e;
    if (dice.below(3) == 0) e.scale = 0.5f;
    if (dice.below(2)) e.bias = bias.data();
    e.activation = std::array{Activation::none, Activation::relu, Activation::gelu}[dice.below(3)];
    const Index adds = dice.below(3);  // no residual, a residual, or the output as residual
    constexpr ActivationLayout forms[] = {ActivationLayout::features, ActivationLayout::tokens,
                                          ActivationLayout::panels, ActivationLayout::narrow_panel};
    const Index of = n <= narrow_panel_width ? 4 : 3;
    const ActivationLayout from = forms[dice.below(of)], to = forms[dice.below(of)];
    const std::vector<float> x = laid(from, k, n, floats(in)), other = laid(to, m, n, residual);
    std::vector<float> y = adds == 2 ? other : laid(to, m, n, std::vector<float>(m * n, 7.0f));
    if (adds) e.residual = adds == 2 ? y.data() : other.data();
    const Threads scope(1 + static_cast<int>(dice.below(3)));
    sparse_product(t, {from, k, n, x.data()}, {to, m, n, y.data()}, e);
    std::vector<float> wanted(m * n), bounds(m * n);
    std::vector<double> nonzeros(m);
    for (Index i = 0; i < m * k; ++i) nonzeros[i / k] += a.values.as<float>()[i] != 0;
    for (Index i = 0; i < m * n; ++i) {
      wanted[i] = finished(product[i], e, i / n, adds ? residual[i] : 0);
      bounds[i] = static_cast<float>(
          std::ldexp(nonzeros[i / n] + 8, -23) *
          (sizes[i] + (e.bias ? std::abs(bias[i / n]) : 0) + (adds ? std::abs(residual[i]) : 0)));
    }
    const auto in_order = laid(to, m, n, wanted), allowed = laid(to, m, n, bounds);
    Index wrong = 0;
    for (Index i = 0; i < m * n; ++i) {
      const Index tok = i % n, first = tok / panel_width * panel_width;
      const Index at = (ActivationsOut{to, m, n, y.data()}.tile(i / n, first) - y.data()) +
                       (tok - first) * (to == ActivationLayout::tokens ? m : 1);
      wrong += !(std::abs(y[at] - in_order[at]) <= allowed[at]);
    }
    CHECK_MESSAGE(wrong == 0, nmg(f).str(), " ", m, " ", k, " ", n, " ", static_cast<int>(from),
                  " ", static_cast<int>(to), " ", static_cast<int>(e.activation), " ", adds);
  }
}

TEST_CASE("epilogues match the reference on every ISA, including NaN and infinity") {
  using kernels::Activation;
  constexpr float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> x{0, -0.0f, 1e-30f, -1e-30f, infinity, std::nanf(""), 100, -100, -13.1f, -6};
  for (float v = -8; v < 8; v += 0.01f) x.push_back(v);
  for (const Activation activation : {Activation::none, Activation::relu, Activation::gelu,
                                      Activation::gelu_tanh, Activation::silu}) {
    std::vector<float> wanted = x;
    kernels::epilogue_reference()->finish(wanted.data(), std::ssize(x), 1, std::ssize(x), 1,
                                          nullptr, nullptr, 0, activation);
    for (const kernels::Isa isa : kernels::all_isas) {
      const kernels::EpilogueTable* table = kernels::epilogue_for(isa);
      if (!table) continue;
      std::vector<float> got = x;
      table->finish(got.data(), std::ssize(x), 1, std::ssize(x), 1, nullptr, nullptr, 0,
                    activation);
      for (std::size_t i = 0; i < x.size(); ++i)
        CHECK_MESSAGE((std::isnan(wanted[i]) ? std::isnan(got[i])
                       : std::isinf(wanted[i])
                           ? got[i] == wanted[i]
                           : std::abs(got[i] - wanted[i]) <= 4e-7f * (std::abs(x[i]) + 1e-3f)),
                      x[i], ": ", got[i], ", not ", wanted[i], " on ", kernels::name_of(isa));
    }
  }
}

TEST_CASE("n:m:g slabs cover all columns and have at most most_slab_rows rows") {
  Dice dice(2);
  for (const Format& f : formats) {
    const Spec spec = nmg(f);
    for (const Index cols : {1, 159, 160, 161, 700}) {
      const Tensor t = fitted(normals(dice, {f.m + 1, cols}), spec);
      const NmgPacked packed(t.as<Nmg>());
      CHECK(packed.slabs.front() == 0);
      CHECK(packed.slabs.back() == cols);
      for (Index s = 0; s < packed.slab_count(); ++s) {
        CHECK(packed.slab_rows(s) > 0);
        CHECK(packed.slab_rows(s) <= most_slab_rows);
      }
      CHECK(std::ssize(packed.offsets) == 2 * cols + kernels::nmg_read_ahead);  // of two blocks
    }
  }
}

TEST_CASE("copies of a tensor share one packed weight; a new tensor is packed again") {
  Dice dice(3);
  const Tensor t = fitted(normals(dice, {8, 24}), Spec::parse("nmg:n=2,m=4,g=1"));
  const auto packed_of = [](const Tensor& a) {
    return a.derived().get<NmgPacked>([&] { return NmgPacked(a.as<Nmg>()); });
  };
  const Tensor same = t, other = Nmg(t.as<Nmg>());
  const auto packed = packed_of(t);
  CHECK(packed_of(same) == packed);
  CHECK(packed_of(other) != packed);
}

TEST_CASE("n:m:g slab kernels match the reference on every ISA without out-of-bounds access") {
  Dice dice(4);
  for (int round = 0; round < 240; ++round) {
    const Format f = formats[round % std::size(formats)];
    const std::size_t w = dice.below(std::size(kernels::nmg_widths));
    const Index width = kernels::nmg_widths[w];
    const NmgPacked any(fitted(normals(dice, {f.m, 1}), nmg(f)).as<Nmg>());
    kernels::NmgRows rows = any.pattern_rows();
    const Index slab_rows = 1 + dice.below(20), blocks = 1 + dice.below(3);
    for (const kernels::Isa isa : kernels::all_isas) {
      const kernels::NmgGemmTable* table = kernels::nmg_gemm_for(isa);
      CHECK((table != nullptr) == kernels::has_isa(isa));
      if (!table) continue;
      rows.groups = table->groups(f.n, f.m);
      for (const bool interleaved : {false, true}) {
        if (interleaved && rows.groups == 0) continue;
        const Index steps = interleaved ? dice.below(6) : -1;
        std::vector<std::uint16_t> counts(blocks * rows.count), offsets;
        for (std::uint16_t& c : counts) {
          c = static_cast<std::uint16_t>(interleaved ? steps : dice.below(24));
          for (int i = 0; i < c; ++i)
            offsets.push_back(
                static_cast<std::uint16_t>(dice.below(slab_rows) * kernels::panel_width * 4));
        }
        const Index strips = std::ssize(offsets);
        offsets.resize(strips + kernels::nmg_read_ahead, 0xffff);
        Fenced<std::uint16_t> fenced_offsets(offsets), fenced_counts(counts);
        Fenced<float> values(floats(normals(dice, {strips * f.n + kernels::nmg_read_ahead}))),
            slab(floats(normals(dice, {slab_rows * width})));
        const kernels::NmgSlabStrips strips_in_slab{steps,
                                                    interleaved ? nullptr : fenced_counts.data(),
                                                    fenced_offsets.data(), values.data()};
        const std::vector<float> before = floats(normals(dice, {blocks * f.m * width}));
        for (const bool more : {false, true}) {
          std::vector<float> wanted = before;
          Fenced<float> got(before);
          kernels::NmgFetch none;
          kernels::nmg_gemm_reference()->run[w](rows, strips_in_slab, blocks, slab.data(), more,
                                                wanted.data(), none);
          table->run[w](rows, strips_in_slab, blocks, slab.data(), more, got.data(), none);
          Index wrong = 0;
          for (std::size_t i = 0; i < wanted.size(); ++i)
            wrong += !(std::abs(got.data()[i] - wanted[i]) <= 1e-4f * (1 + std::abs(wanted[i])));
          CHECK_MESSAGE(wrong == 0, f.n, ":", f.m, " ", interleaved, " ", width, " ",
                        kernels::name_of(isa));
        }
      }
    }
  }
}

TEST_CASE("block-pair kernels match the reference on every ISA") {
  Dice dice(8);
  for (int round = 0; round < 240; ++round) {
    const Index m = 2 + dice.below(4), steps = 1 + dice.below(40), slab_rows = 1 + dice.below(20),
                blocks = 1 + dice.below(5);
    const std::size_t w = dice.below(std::size(kernels::nmg_widths));
    const Index width = kernels::nmg_widths[w], strips = blocks * steps * m;
    const NmgPacked any(fitted(normals(dice, {m, 1}), nmg({1, m, 1})).as<Nmg>());
    kernels::NmgRows rows = any.pattern_rows();
    std::vector<std::uint16_t> offsets(strips + kernels::nmg_read_ahead), shared(blocks / 2);
    for (auto& o : offsets)
      o = static_cast<std::uint16_t>(dice.below(slab_rows) * kernels::panel_width * 4);
    for (auto& s : shared) s = static_cast<std::uint16_t>(dice.below(steps / m + 1));
    Fenced<std::uint16_t> fenced_offsets(offsets), fenced_shared(shared);
    Fenced<float> values(floats(normals(dice, {strips + kernels::nmg_read_ahead}))),
        slab(floats(normals(dice, {slab_rows * width})));
    const kernels::NmgSlabStrips pairs{steps, nullptr, fenced_offsets.data(), values.data(),
                                       fenced_shared.data()};
    const std::vector<float> before = floats(normals(dice, {blocks * m * width}));
    for (const kernels::Isa isa : kernels::all_isas) {
      const kernels::NmgGemmTable* table = kernels::nmg_gemm_for(isa);
      if (!table || !table->supports_block_pairs(1, m)) continue;
      CHECK(!table->supports_block_pairs(2, m));
      rows.groups = table->groups(1, m);
      for (const bool more : {false, true}) {
        std::vector<float> wanted = before;
        Fenced<float> got(before);
        kernels::NmgFetch none;
        kernels::nmg_gemm_reference()->run[w](rows, pairs, blocks, slab.data(), more, wanted.data(),
                                              none);
        table->run[w](rows, pairs, blocks, slab.data(), more, got.data(), none);
        Index wrong = 0;
        for (std::size_t i = 0; i < wanted.size(); ++i)
          wrong += !(std::abs(got.data()[i] - wanted[i]) <= 1e-4f * (1 + std::abs(wanted[i])));
        CHECK_MESSAGE(wrong == 0, m, " ", steps, " ", blocks, " ", width, " ",
                      kernels::name_of(isa));
      }
    }
  }
}

TEST_CASE("row blocks that share columns are paired, and infinity affects only rows that use it") {
  if (!kernels::nmg_gemm().supports_block_pairs(1, 2)) return;
  Dice dice(9);
  const Format f{1, 2, 8};
  const Index m = 6, k = 128, n = 70;
  // Random rows have shared columns; equal rows in all blocks have none.
  Dense alike = normals(dice, {m, k});
  for (Index i = 0; i < m * k; ++i)
    if ((i / k + i) % 2) alike.values.mutate<float>()[i] = 0;
  CHECK(!NmgPacked(fitted(alike, nmg(f)).as<Nmg>()).is_paired[0]);
  const Tensor t = fitted(normals(dice, {m, k}), nmg(f));
  const NmgPacked packed(t.as<Nmg>());
  REQUIRE(packed.is_paired[0]);
  CHECK(packed.shared[0] > 0);
  const Dense a = t.to_dense();
  Dense in = normals(dice, {k, n});
  for (Index j = 0; j < n; ++j) in.values.mutate<float>()[7 * n + j] = INFINITY;
  std::vector<float> out(m * n);
  sparse_gemm(t, n, in.values.as<float>().data(), out.data());
  for (Index i = 0; i < m; ++i)
    CHECK(std::isfinite(out[i * n + n - 1]) == (a.values.as<float>()[i * k + 7] == 0));
}

TEST_CASE("n:m:g small-batch kernels match the reference on every ISA") {
  Dice dice(5);
  for (int round = 0; round < 100; ++round) {
    const Index m = 1 + dice.below(11), entries = 1 + dice.below(3), chunks = dice.below(5),
                chunk = 1 + dice.below(dice.below(2) ? 100 : 256), columns = 1 + dice.below(4),
                ldx = chunk * chunks + kernels::nmg_columns_ahead,
                size = m * chunks * entries * kernels::nmg_lanes;
    std::vector<std::uint8_t> at(size);
    for (std::uint8_t& c : at) c = static_cast<std::uint8_t>(dice.below(chunk));
    Fenced<std::uint8_t> fenced_at(at);
    Fenced<float> values(floats(normals(dice, {size}))), x(floats(normals(dice, {columns * ldx})));
    const kernels::NmgLanes a{m, chunks, chunk, entries, fenced_at.data(), values.data()};
    const Index results = columns * m * kernels::nmg_lanes;
    std::vector<float> wanted(results);
    kernels::nmg_small_batch_reference()->run[columns - 1](a, x.data(), ldx, wanted.data());
    for (const kernels::Isa isa : kernels::all_isas) {
      const kernels::NmgSmallBatchTable* table = kernels::nmg_small_batch_for(isa);
      CHECK((table != nullptr) == kernels::has_isa(isa));
      if (!table) continue;
      Fenced<float> got(results);
      table->run[columns - 1](a, x.data(), ldx, got.data());
      Index wrong = 0;
      for (Index i = 0; i < results; ++i)
        wrong += !(std::abs(got.data()[i] - wanted[i]) <= 1e-4f * (1 + std::abs(wanted[i])));
      CHECK_MESSAGE(wrong == 0, m, " ", chunk, " ", columns, " ", kernels::name_of(isa));
    }
  }
}
