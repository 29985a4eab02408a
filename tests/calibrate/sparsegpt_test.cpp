// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/calibrate/sparsegpt.h"

#include <doctest/doctest.h>

#include <cmath>

#include "libsten/compute/calibrate/layer.h"
#include "libsten/compute/calibrate/sums.h"
#include "libsten/core/base/parallel.h"
#include "tests/support/tensors.h"

namespace sten::testing::sparsegpt {
namespace {

constexpr Index outs = 70, ins = 300, samples = 600;  // more inputs than a block of columns

// Inputs t in the dense model; those in the pruned model are noisy, and 0 from `used` on.
InputStatistics statistics(Index used, const Dense& w) {
  Dice dice(3);
  const Dense t = normals(dice, {samples, ins});
  Dense x = normals(dice, {samples, ins});
  const auto from = t.values.as<float>();
  const auto to = x.values.mutate<float>();
  for (Index i = 0; i < x.size(); ++i)
    to[i] = i % ins < used ? from[i] + from[i / ins * ins] + 0.7F * to[i] : 0;
  InputSums sums(true, true);
  sums.add(x, t);
  InputStatistics s = sums.statistics();
  s.target_squares = squares_of_outputs(w, sums.target_gram());
  return s;
}

CalibratedOptions with_sparsity(const char* value) {
  CalibratedOptions o;
  o.method = "sparsegpt";
  o.structure = Spec("magnitude").set("sparsity", value);
  return o;
}

// W (C + added I) is W* (G + added I), where C is the cross matrix and G the Gram matrix.
template <class T>
void check_least_squares(const Dense& w, const InputStatistics& s, double tolerance) {
  const calibrate::Gram<T> gram(s, 0.01);
  const auto dense = calibrate::matrix_of<T>(w);
  auto solved = dense;
  const calibrate::Matrix<T> targets = gram.targets(dense);
  const calibrate::Kept kept =
      calibrate::prune_by_sparsegpt(solved, gram, calibrate::Chooser(with_sparsity("0")));
  CHECK(std::ranges::count(kept, 0) == 0);
  for (Index r = 0; r < outs; ++r)
    for (Index c = 0; c < ins; ++c) {
      double sum = 0, size = 0;
      for (Index k = 0; k < ins; ++k) {
        const double part = gram.at(c, k) * static_cast<double>(solved.row(r)[k]);
        sum += part;
        size += std::abs(part);
      }
      REQUIRE(std::abs(sum - static_cast<double>(targets.row(r)[c])) <= tolerance * size);
    }
}

// The sum of |W t - P x|^2 over that of |W t|^2.
double error(const Dense& w, const Dense& p, const InputStatistics& s) {
  const auto dense = w.values.as<float>(), pruned = p.values.as<float>(),
             gram = s.gram.values.as<float>(), cross = s.cross.values.as<float>();
  double sum = *s.target_squares;
  for (Index r = 0; r < outs; ++r)
    for (Index i = 0; i < ins; ++i)
      for (Index j = 0; j < ins; ++j) {
        const double to = pruned[r * ins + j];
        sum += to * (static_cast<double>(gram[i * ins + j]) * pruned[r * ins + i] -
                     2.0 * cross[i * ins + j] * dense[r * ins + i]);
      }
  return sum / *s.target_squares;
}

}  // namespace

TEST_CASE("sparsegpt at sparsity 0 is the least-squares solution for the dense model's outputs") {
  Dice dice(1);
  const Dense w = normals(dice, {outs, ins});
  const InputStatistics s = statistics(ins, w);
  check_least_squares<float>(w, s, 1e-5);
  check_least_squares<double>(w, s, 1e-12);
}

TEST_CASE("sparsegpt comes closer to the dense model's outputs with a cross matrix") {
  Dice dice(2);
  const Dense w = normals(dice, {outs, ins});
  const InputStatistics s = statistics(ins - 7, w);
  InputStatistics alone = s;
  alone.cross = {};
  const CalibratedLayer with = prune_layer(w, s, with_sparsity("0.5")),
                        without = prune_layer(w, alone, with_sparsity("0.5"));
  CHECK(with.mask.count() == outs * ins / 2);
  const double by_dense = error(w, with.weights, s);
  CHECK(with.error == doctest::Approx(by_dense).epsilon(1e-4));
  CHECK(by_dense < 0.8 * error(w, without.weights, s));
  for (Index r = 0; r < outs; ++r)
    for (Index c = ins - 7; c < ins; ++c) CHECK(with.weights.values.as<float>()[r * ins + c] == 0);
}

TEST_CASE("sparsegpt with a cross matrix does not depend on orientation or number of threads") {
  Dice dice(4);
  const Dense w = normals(dice, {outs, ins});
  const InputStatistics s = statistics(ins - 7, w);
  Dense transposed = Dense::zeros(DType::F32, {ins, outs});
  for (Index r = 0; r < outs; ++r)
    for (Index c = 0; c < ins; ++c)
      transposed.values.mutate<float>()[c * outs + r] = w.values.as<float>()[r * ins + c];
  CalibratedOptions o = with_sparsity("0.5");
  const std::vector<float> wanted = floats(prune_layer(w, s, o).weights);
  o.transposed = true;
  const int before = threads();
  set_threads(before == 1 ? 2 : 1);
  const std::vector<float> got = floats(prune_layer(transposed, s, o).weights);
  const InputStatistics again = statistics(ins - 7, w);
  set_threads(before);
  for (Index r = 0; r < outs; ++r)
    for (Index c = 0; c < ins; ++c) REQUIRE(got[c * outs + r] == wanted[r * ins + c]);
  CHECK(floats(again.gram) == floats(s.gram));
  CHECK(floats(again.cross) == floats(s.cross));
}

}  // namespace sten::testing::sparsegpt
