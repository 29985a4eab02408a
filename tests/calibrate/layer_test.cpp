// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/calibrate/layer.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>

#include "libsten/compute/calibrate/reconstruct.h"
#include "libsten/compute/calibrate/sums.h"
#include "libsten/core/base/error.h"
#include "libsten/core/base/parallel.h"
#include "libsten/core/registry/registry.h"
#include "libsten/core/tensor/low_floats.h"

using namespace sten;

namespace {

constexpr Index outs = 24, ins = 48, samples = 400;

std::vector<float> noise(Index n, std::uint64_t seed) {
  std::vector<float> v(n);
  std::uint64_t state = seed * 2 + 1;
  for (float& x : v) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    x = static_cast<float>(static_cast<double>(state >> 11) / 9007199254740992.0 - 0.5);
  }
  return v;
}

Dense dense_of(Shape shape, const std::vector<float>& v) {
  Dense x = Dense::zeros(DType::F32, std::move(shape));
  std::copy(v.begin(), v.end(), x.values.mutate<float>().begin());
  return x;
}

// Correlated inputs of very different magnitudes.
std::vector<float> inputs(std::uint64_t seed) {
  const auto own = noise(samples * ins, seed), common = noise(samples * 6, seed + 1),
             mixing = noise(6 * ins, 77);
  std::vector<float> x(samples * ins);
  for (Index s = 0; s < samples; ++s)
    for (Index j = 0; j < ins; ++j) {
      float sum = 0.4F * own[s * ins + j];
      for (Index k = 0; k < 6; ++k) sum += 2 * common[s * 6 + k] * mixing[k * ins + j];
      x[s * ins + j] = sum * static_cast<float>(1 + j % 5);
    }
  return x;
}

Dense product(const std::vector<float>& a, const std::vector<float>& b) {
  std::vector<float> sums(ins * ins);
  for (Index i = 0; i < ins; ++i)
    for (Index j = 0; j < ins; ++j) {
      double sum = 0;
      for (Index s = 0; s < samples; ++s)
        sum += static_cast<double>(a[s * ins + i]) * b[s * ins + j];
      sums[i * ins + j] = static_cast<float>(sum);
    }
  return dense_of({ins, ins}, sums);
}

InputStatistics statistics(const std::vector<float>& x) {
  InputStatistics s;
  s.samples = samples;
  s.gram = product(x, x);
  for (Index j = 0; j < ins; ++j) s.squares.push_back(s.gram.values.as<float>()[j * ins + j]);
  return s;
}

const Dense weights = dense_of({outs, ins}, noise(outs* ins, 5));

CalibratedOptions options(const char* method, const char* structure, bool reconstruct = false) {
  CalibratedOptions o;
  o.method = method;
  o.structure = Spec::parse(structure);
  o.reconstruct = reconstruct;
  return o;
}

double output_error(const char* method, const char* structure, bool reconstruct = false) {
  return prune_layer(weights, statistics(inputs(1)), options(method, structure, reconstruct)).error;
}

}  // namespace

TEST_CASE("wanda and ria rank weights by their published formulas") {
  InputStatistics s;
  s.squares = {1, 100, 0.01};
  const Dense w = Dense::of({2, 3}, {3, 0.5F, 9, 1, -0.2F, 4});
  CalibratedOptions o = options("wanda", "magnitude:sparsity=0.5");
  // |w| |x|: 3 5 .9 / 1 2 .4
  CHECK(prune_layer(w, s, o).weights.values.as<float>()[1] == 0.5F);
  CHECK(prune_layer(w, s, o).mask.count() == 3);
  CHECK_FALSE(prune_layer(w, s, o).mask[3]);
  o.by_row = true;
  o.structure = Spec::parse("magnitude:sparsity=0.67");
  CHECK(prune_layer(w, s, o).mask[1]);
  CHECK(prune_layer(w, s, o).mask[4]);
  CHECK(prune_layer(w, s, o).mask.count() == 2);
  // (share of row + share of column) |x|^1/2: .99 2.38 .45 / .44 1.03 .33
  o = options("ria", "magnitude:sparsity=0.5");
  const Mask kept = prune_layer(w, s, o).mask;
  CHECK(kept.count() == 3);
  CHECK((kept[0] && kept[1] && kept[4]));
}

TEST_CASE("reconstruction, sparsegpt and admm reduce the output error for every structure") {
  for (const char* structure : {"magnitude:sparsity=0.75", "block-magnitude:sparsity=0.5,h=4,w=4",
                                "nm:n=1,m=4", "nmg:n=2,m=4,g=2", "nmg:n=1,m=4,g=2,axis=1"}) {
    CAPTURE(structure);
    const double magnitude = output_error("magnitude", structure),
                 solved = output_error("magnitude", structure, true),
                 sparsegpt = output_error("sparsegpt", structure),
                 sparsegpt_solved = output_error("sparsegpt", structure, true),
                 admm = output_error("admm", structure);
    CHECK(solved < magnitude);
    CHECK(sparsegpt < magnitude);
    CHECK(sparsegpt_solved < sparsegpt);
    CHECK(admm < solved);
    CHECK(admm < 1.02 * sparsegpt_solved);
    const CalibratedLayer layer =
        prune_layer(weights, statistics(inputs(1)), options("admm", structure));
    CHECK(layer.error < layer.error_before);
    // The structure's own sparsifier keeps all kept values.
    const Mask again = registry().sparsifier(Spec::parse(structure)).select(layer.weights);
    for (Index i = 0; i < again.size(); ++i)
      if (!again[i]) REQUIRE(layer.weights.values.as<float>()[i] == 0);
  }
}

TEST_CASE(
    "reconstruction with a cross matrix is least squares by factors, nearly so by gradients") {
  const auto x = inputs(1), t = inputs(2);
  InputStatistics s = statistics(x);
  s.cross = product(t, x);
  const calibrate::Gram<float> gram(s, 1e-3);
  const auto w = calibrate::matrix_of<float>(weights);
  calibrate::Kept kept(w.values.size());
  for (std::size_t i = 0; i < kept.size(); ++i) kept[i] = i % 3 == 0 || i % 7 == 0;
  const calibrate::Matrix<float> solved = calibrate::reconstruct_by_factors(w, kept, gram),
                                 stepped = calibrate::reconstruct_by_gradients(w, kept, gram),
                                 targets = gram.targets(w);
  for (Index r = 0; r < outs; ++r)
    for (Index c = 0; c < ins; ++c) {
      if (!kept[r * ins + c]) {
        CHECK(solved.row(r)[c] == 0);
        continue;
      }
      double sum = 0, size = 0;
      for (Index k = 0; k < ins; ++k) {
        sum += gram.at(c, k) * solved.row(r)[k];
        size += std::abs(gram.at(c, k) * solved.row(r)[k]);
      }
      REQUIRE(std::abs(sum - targets.row(r)[c]) < 1e-5 * size);
    }
  // The objective.
  const auto objective = [&](const calibrate::Matrix<float>& v) {
    double sum = 0;
    for (Index r = 0; r < outs; ++r)
      for (Index i = 0; i < ins; ++i) {
        for (Index j = 0; j < ins; ++j) sum += v.row(r)[i] * gram.at(i, j) * v.row(r)[j];
        sum -= 2.0 * v.row(r)[i] * targets.row(r)[i];
      }
    return sum;
  };
  const double least = objective(solved);
  CHECK(least < 0);
  CHECK(objective(stepped) < 0.999 * least);
}

TEST_CASE("reported errors match those of the outputs, with and without a cross matrix") {
  const auto x = inputs(1), t = inputs(2);
  // The sum over all samples of |W t - P x|^2 / |W t|^2.
  const auto error_of = [&](const Dense& w, const Dense& p, const std::vector<float>& from) {
    double difference = 0, all = 0;
    for (Index s = 0; s < samples; ++s)
      for (Index r = 0; r < outs; ++r) {
        double wanted = 0, got = 0;
        for (Index i = 0; i < ins; ++i) {
          wanted += static_cast<double>(w.values.as<float>()[r * ins + i]) * from[s * ins + i];
          got += static_cast<double>(p.values.as<float>()[r * ins + i]) * x[s * ins + i];
        }
        difference += (wanted - got) * (wanted - got);
        all += wanted * wanted;
      }
    return difference / all;
  };
  for (const DType dtype : {DType::F32, DType::BF16})
    for (const bool has_cross : {false, true}) {
      CAPTURE(name_of(dtype));
      CAPTURE(has_cross);
      const Dense w = rounded_to(dtype, weights).to_dense(), wide = widened(w).to_dense();
      const auto& from = has_cross ? t : x;
      InputStatistics s = statistics(x);
      if (has_cross) {
        s.cross = product(t, x);
        s.target_squares = squares_of_outputs(w, product(t, t));
      }
      const CalibratedLayer layer =
          prune_layer(w, s, options("magnitude", "magnitude:sparsity=0.5", true));
      const Dense solved = widened(layer.weights).to_dense();
      CHECK(layer.error == doctest::Approx(error_of(wide, solved, from)).epsilon(1e-4));
      CHECK(layer.error_before ==
            doctest::Approx(error_of(wide, Dense::pack(wide, layer.mask), from)).epsilon(1e-4));
    }
}

TEST_CASE("sparsegpt does not depend on the orientation of weights or the number of threads") {
  const InputStatistics s = statistics(inputs(1));
  Dense transposed_copy = Dense::zeros(DType::F32, {ins, outs});
  for (Index r = 0; r < outs; ++r)
    for (Index c = 0; c < ins; ++c)
      transposed_copy.values.mutate<float>()[c * outs + r] =
          weights.values.as<float>()[r * ins + c];
  CalibratedOptions o = options("sparsegpt", "nmg:n=2,m=4,g=2");
  const CalibratedLayer layer = prune_layer(weights, s, o);
  o.structure = Spec::parse("nmg:n=2,m=4,g=2,axis=1");
  o.transposed = true;
  const CalibratedLayer other = prune_layer(transposed_copy, s, o);
  for (Index r = 0; r < outs; ++r)
    for (Index c = 0; c < ins; ++c)
      REQUIRE(other.weights.values.as<float>()[c * outs + r] ==
              layer.weights.values.as<float>()[r * ins + c]);
  const int before = threads();
  set_threads(before == 1 ? 2 : 1);
  const CalibratedLayer again = prune_layer(transposed_copy, s, o);
  set_threads(before);
  CHECK(std::ranges::equal(again.weights.values.as<float>(), other.weights.values.as<float>()));
}

TEST_CASE("unknown methods and missing or misshaped statistics are rejected") {
  InputStatistics s;
  s.squares.assign(ins, 1);
  CHECK_THROWS_WITH(prune_layer(weights, s, options("sparsegpt", "magnitude:sparsity=0.5")),
                    "--method sparsegpt needs the Gram matrix of the layer's inputs");
  CHECK_THROWS_WITH(prune_layer(weights, s, options("wand", "magnitude:sparsity=0.5")),
                    "unknown method 'wand', did you mean 'wanda'? (expected one of magnitude, "
                    "wanda, ria, sparsegpt, admm)");
  s.squares.pop_back();
  s.gram = statistics(inputs(1)).gram;
  CHECK_THROWS_WITH(prune_layer(weights, s, options("wanda", "magnitude:sparsity=0.5")),
                    "--method wanda needs the squares of 48 inputs, got 47");
}

TEST_CASE("selection by row prunes the smallest ranks, of equal ranks the later first") {
  for (const Shape& shape : {Shape{1, 1}, {3, 7}, {70, 33}, {130, 64}, {2, 4097}})
    for (const double sparsity : {0.0, 0.3, 0.5, 0.97, 1.0})
      for (const bool has_ties : {false, true})
        for (const DType dtype : {DType::F32, DType::BF16}) {
          const Index rows = shape[0], cols = shape[1];
          CAPTURE(rows);
          CAPTURE(cols);
          CAPTURE(sparsity);
          std::vector<float> v = noise(rows * cols, 5);
          if (has_ties)
            for (float& x : v) x = std::round(x * 3);
          // Values that bfloat16 can represent.
          for (float& x : v)
            x = std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & 0xffff0000u);
          Dense w = dense_of({rows, cols}, v);
          if (dtype == DType::BF16) {
            Dense narrow = Dense::zeros(DType::BF16, {rows, cols});
            for (Index i = 0; i < w.size(); ++i)
              narrow.values.mutate<std::uint16_t>()[i] =
                  static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(v[i]) >> 16);
            w = narrow;
          }
          InputStatistics known;
          for (Index c = 0; c < cols; ++c) known.squares.push_back(static_cast<double>(c % 3));
          CalibratedOptions o;
          o.method = "wanda";
          o.by_row = true;
          o.structure = Spec("magnitude").set("sparsity", fmt::format("{}", sparsity));
          const Mask mask = prune_layer(w, known, o).mask;
          const auto removed =
              static_cast<std::size_t>(std::llround(sparsity * static_cast<double>(cols)));
          for (Index r = 0; r < rows; ++r) {
            std::vector<std::pair<float, Index>> order;
            for (Index c = 0; c < cols; ++c)
              order.emplace_back(std::abs(v[r * cols + c]) * std::sqrt(static_cast<float>(c % 3)),
                                 -c);
            std::ranges::sort(order);
            for (std::size_t i = 0; i < order.size(); ++i)
              REQUIRE(mask[r * cols - order[i].second] == (i >= removed));
          }
        }
}

namespace {

Dense doubles(const std::vector<double>& v) {
  Dense w = Dense::zeros(DType::F64, {outs, ins});
  std::ranges::copy(v, w.values.mutate<double>().begin());
  return w;
}

std::vector<double> wide_noise() {
  const std::vector<float> v = noise(outs * ins, 5), rest = noise(outs * ins, 6);
  std::vector<double> wide;
  for (std::size_t i = 0; i < v.size(); ++i)
    wide.push_back(v[i] + 1e-12 * static_cast<double>(rest[i]));
  return wide;
}

}  // namespace

TEST_CASE("wanda and ria copy kept F64 weights and rank values beyond float32's range") {
  std::vector<double> v = wide_noise();
  v[0] = 1e300;
  for (Index j = 0; j < ins; ++j) v[ins + j] = 1e-300 * (1 + static_cast<double>(j) * 1e-12);
  const Dense w = doubles(v);
  for (const char* method : {"wanda", "ria"})
    for (const bool by_row : {false, true})
      for (const bool with_gram : {false, true}) {
        CAPTURE(method);
        CAPTURE(by_row);
        CAPTURE(with_gram);
        InputStatistics s;
        s.squares.assign(ins, 4);
        if (with_gram) s.gram = dense_of({ins, ins}, std::vector<float>(ins * ins, 4));
        CalibratedOptions o = options(method, "magnitude:sparsity=0.5");
        o.by_row = by_row;
        const CalibratedLayer layer = prune_layer(w, s, o);
        CHECK(layer.mask.count() == outs * ins / 2);
        for (Index i = 0; i < w.size(); ++i)
          REQUIRE(layer.weights.values.as<double>()[i] == (layer.mask[i] ? v[i] : 0));
        CHECK(layer.mask[0]);
        if (!by_row || std::string(method) == "ria") continue;
        for (Index j = 0; j < ins; ++j) CHECK(layer.mask[ins + j] == (j >= ins / 2));
      }
}

TEST_CASE("F64 weights are reconstructed in float64 at any magnitude") {
  const std::vector<double> v = wide_noise();
  InputStatistics s = statistics(inputs(1));
  for (Index i = 0; i < ins; ++i)  // uncorrelated inputs: no value changes
    for (Index j = 0; j < ins; ++j)
      if (i != j) s.gram.values.mutate<float>()[i * ins + j] = 0;
  for (const char* method : {"magnitude", "sparsegpt", "admm"})
    for (const double scale : {1.0, 1e300, 1e-300}) {
      CAPTURE(method);
      CAPTURE(scale);
      std::vector<double> scaled = v;
      for (double& x : scaled) x *= scale;
      const CalibratedLayer layer =
          prune_layer(doubles(scaled), s, options(method, "magnitude:sparsity=0.5", true));
      CHECK(layer.error > 0);
      CHECK(layer.error < 0.5);
      for (Index i = 0; i < std::ssize(v); ++i)
        if (layer.mask[i])
          REQUIRE(std::abs(layer.weights.values.as<double>()[i] - scaled[i]) <=
                  1e-13 * std::abs(scaled[i]));
    }
}

TEST_CASE("pruning is invariant to the scale of statistics and weights within float32's range") {
  const InputStatistics s = statistics(inputs(1));
  const auto scaled = [](const Dense& x, float by) {
    Dense y = Dense::zeros(DType::F32, x.extents);
    for (Index i = 0; i < x.size(); ++i) y.values.mutate<float>()[i] = by * x.values.as<float>()[i];
    return y;
  };
  for (const char* method : {"wanda", "ria", "sparsegpt", "admm"}) {
    CAPTURE(method);
    const CalibratedOptions o = options(method, "magnitude:sparsity=0.5");
    const CalibratedLayer usual = prune_layer(weights, s, o);
    for (const float of_weights : {0x1p-60F, 0x1p120F})
      for (const float of_inputs : {0x1p-100F, 0x1p110F}) {
        InputStatistics far;
        far.gram = scaled(s.gram, of_inputs);
        const CalibratedLayer layer = prune_layer(scaled(weights, of_weights), far, o);
        CHECK(std::ranges::equal(layer.weights.values.as<float>(),
                                 scaled(usual.weights, of_weights).values.as<float>()));
        CHECK(layer.error == doctest::Approx(usual.error));
      }
  }
}

TEST_CASE("non-finite reconstructed weights and non-finite statistics are rejected") {
  InputStatistics s;
  s.gram = Dense::of({2, 2}, {1, 0.9F, 0.9F, 1});
  const Dense w = Dense::of({1, 2}, {3e38F, 3.1e38F});
  CHECK_THROWS_WITH(prune_layer(w, s, options("magnitude", "magnitude:sparsity=0.5", true)),
                    "element 1 of the reconstructed weights is not finite in F32");
  s.gram = Dense::of({2, 2}, {1, INFINITY, INFINITY, 1});
  CHECK_THROWS_WITH(prune_layer(w, s, options("admm", "magnitude:sparsity=0.5")),
                    "the sums of products of the layer's inputs are not finite");
}
