// SPDX-License-Identifier: Apache-2.0
// Sparse training from the first step to the last: weights in n:m:g, gradients only at their
// positions, in-place updates of values. Nothing becomes dense.
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <numbers>
#include <numeric>
#include <sstream>

#include "libsten/compute/ops/common/operators.h"
#include "libsten/core/base/random.h"
#include "libsten/training/optim/adamw.h"

using namespace sten;

namespace {

// Handwritten digits of 8 x 8 pixels.
struct Digits {
  Dense pixels;  // [N, 64], from -1 to 1
  Dense labels;  // [N], I64
  Index size() const { return labels.size(); }
};

// The rows of recipes/data/digits.csv whose index is (held_out) or is not a multiple of 5.
Digits read_digits(bool held_out) {
  std::ifstream file(STEN_SOURCE_DIR "/recipes/data/digits.csv");
  std::vector<float> pixels;
  std::vector<std::int64_t> labels;
  std::string line, cell;
  std::getline(file, line);  // names of the columns
  for (Index row = 0; std::getline(file, line); ++row) {
    if ((row % 5 == 0) != held_out) continue;
    std::istringstream cells(line);
    for (int i = 0; i < 64 && std::getline(cells, cell, ','); ++i)
      pixels.push_back(std::stof(cell) / 8 - 1);
    std::getline(cells, cell);
    labels.push_back(std::stoi(cell));
  }
  const auto n = static_cast<Index>(labels.size());
  Digits d{Dense::zeros(DType::F32, {n, 64}), Dense::zeros(DType::I64, {n})};
  std::ranges::copy(pixels, d.pixels.values.mutate<float>().begin());
  std::ranges::copy(labels, d.labels.values.mutate<std::int64_t>().begin());
  return d;
}

// Rows order[begin] to order[end].
Digits batch_of(const Digits& all, const std::vector<Index>& order, Index begin, Index end) {
  Digits b{Dense::zeros(DType::F32, {end - begin, 64}), Dense::zeros(DType::I64, {end - begin})};
  float* pixels = b.pixels.values.mutate<float>().data();
  for (Index i = begin; i < end; ++i) {
    std::ranges::copy(all.pixels.values.as<float>().subspan(order[i] * 64, 64),
                      pixels + (i - begin) * 64);
    b.labels.values.put(i - begin, all.labels.values, order[i]);
  }
  return b;
}

// 0 to n - 1 in random order.
std::vector<Index> shuffled(Index n, std::uint64_t seed) {
  std::vector<Index> order(n);
  std::iota(order.begin(), order.end(), Index{0});
  std::ranges::sort(order, {}, [&](Index i) { return random_bits(seed, i); });
  return order;
}

// Normal values of variance 2 / columns (He et al. 2015).
Dense random_weight(Index rows, Index cols, std::uint64_t seed) {
  Dense w = Dense::zeros(DType::F32, {rows, cols});
  Index i = 0;
  for (float& v : w.values.mutate<float>()) {
    const double r = std::sqrt(-2 * std::log(1 - random_uniform(seed, i++)));
    const double angle = 2 * std::numbers::pi * random_uniform(seed, i++);
    v = static_cast<float>(r * std::cos(angle) * std::sqrt(2.0 / static_cast<double>(cols)));
  }
  return w;
}

// A weight and a bias for each layer; hidden ones are pruned to `layout` before they are trained.
std::vector<Parameter> make_network(const std::vector<Index>& widths, const Spec& layout) {
  std::vector<Parameter> p;
  for (std::size_t i = 1; i < widths.size(); ++i) {
    const Dense w = random_weight(widths[i], widths[i - 1], i);
    const bool is_hidden = i + 1 < widths.size();
    p.emplace_back(fmt::format("fc{}.weight", i),
                   is_hidden ? registry().prune(w, layout, layout) : Tensor(w));
    p.emplace_back(fmt::format("fc{}.bias", i), Dense::zeros(DType::F32, {widths[i]}));
  }
  return p;
}

// Logits [N, 10], taped or not: T is Var or Tensor.
template <Operand T>
T forward(const std::vector<T>& p, T x) {
  for (std::size_t i = 0; i + 2 < p.size(); i += 2) x = relu(linear(x, p[i], p[i + 1]));
  return linear(x, p[p.size() - 2], p.back());
}

void train(std::vector<Parameter>& network, const Digits& digits, int epochs) {
  constexpr Index batch = 32;
  constexpr double rate = 3e-3;
  AdamW adam({.beta2 = 0.99});
  for (int epoch = 0; epoch < epochs; ++epoch) {
    // Down to 0 along a cosine.
    adam.options.rate = rate * (1 + std::cos(std::numbers::pi * epoch / epochs)) / 2;
    const auto order = shuffled(digits.size(), epoch);
    for (Index i = 0; i < digits.size(); i += batch) {
      const Digits some = batch_of(digits, order, i, std::min(i + batch, digits.size()));
      std::vector<Tensor> gradients;
      {
        Tape tape;
        std::vector<Var> p;
        for (const Parameter& weight : network) p.push_back(tape.parameter(weight.value));
        tape.backward(cross_entropy(forward<Var>(p, Tensor(some.pixels)), Tensor(some.labels)));
        for (const Var& v : p) gradients.push_back(*v.grad());
      }  // after the tape is destroyed no one else holds the weights, so steps are in place
      for (std::size_t k = 0; k < network.size(); ++k) adam.step(network[k], gradients[k]);
    }
  }
}

// The share of digits whose greatest logit is that of their label.
double accuracy(const std::vector<Parameter>& network, const Digits& digits) {
  std::vector<Tensor> p;
  for (const Parameter& weight : network) p.push_back(weight.value);
  const Dense logits = forward<Tensor>(p, digits.pixels).to_dense();
  Index right = 0;
  for (Index i = 0; i < digits.size(); ++i) {
    const auto row = logits.values.as<float>().subspan(i * 10, 10);
    right +=
        std::ranges::max_element(row) - row.begin() == digits.labels.values.as<std::int64_t>()[i];
  }
  return static_cast<double>(right) / static_cast<double>(digits.size());
}

// Fallbacks are errors, and plans are written down, until the end of the scope.
class Watched {
 public:
  Watched() {
    set_strict(true);
    Operators::log_plans(&plans);
  }
  ~Watched() {
    Operators::log_plans(nullptr);
    set_strict(before_);
  }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  std::vector<std::string> plans;

 private:
  bool before_ = is_strict();
};

}  // namespace

TEST_CASE("an n:m:g network learns to classify digits in place and without a dense fallback") {
  const Digits train_on = read_digits(false), held_out = read_digits(true);
  REQUIRE(train_on.size() == 1437);
  REQUIRE(held_out.size() == 360);
  for (const std::string layout : {"nmg:n=2,m=4,g=2", "nmg:n=1,m=4,g=2"}) {
    CAPTURE(layout);
    std::vector<Parameter> network = make_network({64, 128, 64, 10}, Spec::parse(layout));
    // Addresses of values and positions.
    const auto memory = [&] {
      std::vector<const void*> at;
      for (const Parameter& p : network)
        for (const Part& part : p.value.save().parts) at.push_back(part.bytes.data());
      return at;
    };
    const auto was = memory();
    std::vector<std::string> plans;
    double before, after;
    {
      Watched watched;
      before = accuracy(network, held_out);
      train(network, train_on, 30);
      after = accuracy(network, held_out);
      plans = watched.plans;
    }
    CHECK(before < 0.3);
    CHECK(after >= 0.96);

    // Every operator of every step had an exact implementation for its layouts.
    Index sparse = 0;
    for (const std::string& plan : plans) {
      if (!plan.ends_with(": exact")) FAIL_CHECK(plan);
      sparse += plan.find("nmg") != std::string::npos;
    }
    constexpr Index steps = 30 * 45, layers = 2;
    CHECK(sparse == layers * (2 * steps + 2));
    CHECK(network[0].value.spec().str() == layout);
    CHECK(network[2].value.spec().str() == layout);
    CHECK(memory() == was);
  }
}
