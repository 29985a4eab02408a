// Products of n:m:g, against the formula in double with the bound of float32's rounding.
#include <doctest/doctest.h>

#include <cmath>

#include "kernels/reference/gemm.h"
#include "kernels/reference/nmg_gemm.h"
#include "kernels/reference/nmg_lanes.h"
#include "libsten/dispatch/registry.h"
#include "libsten/ops/nmg_packed.h"
#include "libsten/ops/sparse_product.h"
#include "tests/kernels/fenced.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

std::vector<double> wide(const Dense& x, bool magnitudes) {
  std::vector<double> v;
  for (const float f : x.values.as<float>()) v.push_back(magnitudes ? std::abs(f) : f);
  return v;
}

// A[m,k] * in, as `linear` has it.
std::vector<double> formula(bool linear, const Dense& a, const Dense& in, Index n,
                            bool magnitudes) {
  const Index m = a.extents[0], k = a.extents[1];
  std::vector<double> out(m * n);
  const auto x = wide(a, magnitudes), y = wide(in, magnitudes);
  if (linear)
    kernels::gemm_reference(true, n, m, k, y.data(), x.data(), out.data());
  else
    kernels::gemm_reference(false, m, n, k, x.data(), y.data(), out.data());
  return out;
}

Tensor fitted(const Dense& x, const Spec& spec) { return registry().prune(x, spec, spec); }

struct Format {
  Index n, m, g;
};
Spec nmg(const Format& f) { return Spec("nmg").set("n", f.n).set("m", f.m).set("g", f.g); }
constexpr Format formats[] = {{1, 1, 4},   {2, 2, 3},  {1, 2, 7},  {1, 3, 2}, {2, 4, 1},
                              {2, 4, 16},  {1, 4, 16}, {3, 4, 2},  {1, 8, 8}, {1, 10, 4},
                              {2, 10, 1},  {1, 20, 2}, {5, 7, 1},  {7, 8, 3}, {9, 10, 2},
                              {13, 14, 1}, {1, 64, 3}, {2, 3, 100}};

}  // namespace

TEST_CASE("products of n:m:g are as exact as float32 allows, whatever shape and format") {
  Dice dice(1);
  for (int round = 0; round < 500; ++round) {
    const Format f = formats[round % std::size(formats)];
    const Spec spec = nmg(f);
    const Index m = dice.below(9) ? 1 + dice.below(50) : dice.below(3),
                k = dice.below(9) ? 1 + dice.below(dice.below(4) ? 60 : 500) : dice.below(3),
                n = dice.below(9) ? 1 + dice.below(dice.below(4) ? 60 : 150) : dice.below(3);
    const bool linear = dice.below(2);
    const Tensor t = fitted(normals(dice, {m, k}), spec);
    const Dense a = t.to_dense(), in = normals(dice, linear ? Shape{n, k} : Shape{k, n});
    const auto wanted = formula(linear, a, in, n, false), sizes = formula(linear, a, in, n, true);
    std::vector<double> nonzeros(m);
    for (Index i = 0; i < m * k; ++i) nonzeros[i / k] += a.values.as<float>()[i] != 0;
    std::vector<float> first;
    for (const int team : {1, 2, 3}) {
      const Threads scope(team);
      std::vector<float> out(m * n + 1, 7.0f);
      (linear ? sparse_linear : sparse_gemm)(t, n, in.values.as<float>().data(), out.data());
      Index wrong = 0;
      for (Index i = 0; i < m * n; ++i) {
        const double terms = nonzeros[linear ? i % m : i / n];
        wrong += !(std::abs(out[i] - wanted[i]) <= std::ldexp(terms + 8, -23) * sizes[i]);
      }
      CHECK_MESSAGE(wrong == 0, spec.str(), " ", m, " ", k, " ", n, " ", linear, " ", team);
      CHECK(out.back() == 7.0f);
      if (team == 1) first = out;
      CHECK_MESSAGE(out == first, spec.str(), ": threads change nothing");
    }
  }
}

TEST_CASE("every column of n:m:g is in one slab, and slabs fit the first cache") {
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

TEST_CASE("a weight is packed once, and a copy of it anew") {
  Dice dice(3);
  const Tensor t = fitted(normals(dice, {8, 24}), Spec::parse("nmg:n=2,m=4,g=1"));
  const Nmg& a = t.as<Nmg>();
  const auto packed = a.derived.get<NmgPacked>([&] { return NmgPacked(a); });
  CHECK(a.derived.get<NmgPacked>([&] { return NmgPacked(a); }) == packed);
  const Nmg copy = a;
  CHECK(copy.derived.get<NmgPacked>([&] { return NmgPacked(copy); }) != packed);
}

TEST_CASE("products with a slab of every ISA agree with the reference, and touch nothing else") {
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

TEST_CASE("few columns are multiplied by lanes as by the reference, on every ISA") {
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
    kernels::nmg_lanes_reference()(a, columns, x.data(), ldx, wanted.data());
    for (const kernels::Isa isa : kernels::all_isas) {
      kernels::NmgLanesRun* run = kernels::nmg_lanes_for(isa);
      CHECK((run != nullptr) == kernels::has_isa(isa));
      if (!run) continue;
      Fenced<float> got(results);
      run(a, columns, x.data(), ldx, got.data());
      Index wrong = 0;
      for (Index i = 0; i < results; ++i)
        wrong += !(std::abs(got.data()[i] - wanted[i]) <= 1e-4f * (1 + std::abs(wanted[i])));
      CHECK_MESSAGE(wrong == 0, m, " ", chunk, " ", columns, " ", kernels::name_of(isa));
    }
  }
}
