// SPDX-License-Identifier: Apache-2.0
// Mixture of experts.
#include <doctest/doctest.h>

#include <cmath>

#include "libsten/compute/autograd/tape.h"
#include "libsten/compute/ops/common/operators.h"
#include "libsten/core/sparsify/nm_magnitude.h"
#include "tests/autograd/pytorch.h"
#include "tests/ops/operands.h"

using namespace sten;
using namespace sten::testing;

namespace {

Tensor mixture(std::vector<Tensor> in, const Attributes& a) {
  return apply("mixture-of-experts", in, a);
}

const Tensor one = f32({1, 1}, {1});
// Three experts of one feature: expert e gives relu(x) * x * (e + 1).
std::vector<Tensor> operands(Tensor x, Tensor logits) {
  return {std::move(x), std::move(logits), one, one, one, one, one, f32({1, 1}, {2}), one,
          one,          f32({1, 1}, {3})};
}
const Attributes rules = Attributes().set("activation", "relu");

Attributes choosing(Index k, bool normalize) {
  return Attributes(rules).set("top_k", k).set("normalize", Index{normalize});
}

}  // namespace

TEST_CASE("mixture-of-experts sums the top-k experts by raw or normalized probabilities") {
  const Tensor x = tensor({3, 1}, {2, 1, -1});
  // Probabilities 1 / 8, 2 / 8, 5 / 8, in another order for the second token.
  const auto log = [](float p) { return std::log(p); };
  const Tensor logits =
      tensor({3, 3}, {log(1), log(2), log(5), log(5), log(1), log(2), log(1), log(2), log(5)});
  const auto values = [&](Index k, bool normalize) {
    return floats(mixture(operands(x, logits), choosing(k, normalize)).to_dense());
  };
  const auto check = [](const std::vector<float>& got, std::vector<float> wanted) {
    for (std::size_t i = 0; i < 3; ++i) CHECK(got[i] == doctest::Approx(wanted[i]));
  };
  check(values(1, false), {4 * 3 * 5 / 8.0f, 1 * 5 / 8.0f, 0});
  check(values(1, true), {4 * 3, 1, 0});
  check(values(2, false), {4 * (3 * 5 + 2 * 2) / 8.0f, (1 * 5 + 3 * 2) / 8.0f, 0});
  check(values(2, true), {4 * (3 * 5 + 2 * 2) / 7.0f, (1 * 5 + 3 * 2) / 7.0f, 0});
}

TEST_CASE("ties between experts go to the first ones, and unselected experts get no gradient") {
  const Tensor x = tensor({1, 1}, {1}), logits = tensor({1, 3}, {0, 0, 0});
  CHECK(is(mixture(operands(x, logits), choosing(2, true)), tensor({1, 1}, {1.5})));
  Tape tape;
  std::vector<Var> in;
  for (const Tensor& t : operands(x, logits)) in.push_back(tape.parameter(t));
  tape.backward(apply("mixture-of-experts", in, choosing(2, true)), tensor({1, 1}, {1}));
  const auto slope = [&](std::size_t i) { return floats(in[i].grad()->to_dense())[0]; };
  CHECK(slope(4) == 0.5f);
  CHECK(slope(7) == 0.5f);
  CHECK(slope(10) == 0);
  // 0.5 * (1 - 1.5) and 0.5 * (2 - 1.5).
  const std::vector<float> slopes = floats(in[1].grad()->to_dense());
  CHECK(slopes[0] == doctest::Approx(-0.25));
  CHECK(slopes[1] == doctest::Approx(0.25));
  CHECK(std::abs(slopes[2]) < 1e-7f);
}

TEST_CASE("experts in sparse layouts match dense experts, forward and backward") {
  const Index features = 8, hidden = 12;
  Dice dice(5);
  std::vector<Tensor> sparse{normals(dice, {5, features}), normals(dice, {5, 2})}, dense = sparse;
  const NmMagnitude two_of_four{2, 4, 1, {}};
  for (const char* layout : {"masked", "nm:n=2,m=4", "csr", "csr", "dense", "masked"}) {
    const bool is_down = sparse.size() % 3 == 1;
    const Dense w = normals(dice, is_down ? Shape{features, hidden} : Shape{hidden, features});
    const Spec spec = Spec::parse(layout);
    sparse.push_back(spec.name() == "dense" ? Tensor(w) : sparsify(w, two_of_four, spec));
    dense.push_back(sparse.back().to_dense());
  }
  const Tensor dy = normals(dice, {5, features});
  const auto slopes = [&](const std::vector<Tensor>& values) {
    Tape tape;
    std::vector<Var> in;
    for (const Tensor& t : values) in.push_back(tape.parameter(t, OutFormat::same_as(t)));
    const Var y = apply("mixture-of-experts", in, Attributes().set("top_k", 1));
    tape.backward(y, dy);
    std::vector<Tensor> all{y.value()};
    for (const Var& v : in) all.push_back(*v.grad());
    return all;
  };
  const std::vector<Tensor> got = slopes(sparse), wanted = slopes(dense);
  for (std::size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    const bool is_weight = i > 2;
    if (is_weight) CHECK(got[i].spec() == sparse[i - 1].spec());
    const Dense& exact = wanted[i].as<Dense>();
    CHECK(far_from(is_weight ? masked_by(exact, sparse[i - 1].stored()) : exact, got[i].to_dense(),
                   1e-6) == "");
  }
}

TEST_CASE("mixture-of-experts rejects mismatched operands and invalid attributes") {
  const Tensor x = tensor({2, 1}, {1, 2}), logits = Dense::zeros(DType::F32, {2, 3});
  const auto error = [&](std::vector<Tensor> in, const Attributes& a) {
    return error_of([&] { mixture(std::move(in), a); });
  };
  CHECK(error(operands(x, logits), choosing(4, false)) ==
        "mixture-of-experts: top_k must be in [1, 3], the number of experts, got 4");
  CHECK(error(operands(x, logits), Attributes().set("activation", "sillu")) ==
        "mixture-of-experts: unknown activation \"sillu\", expected an elementwise operator of one "
        "input");
  CHECK(error(operands(x, x), rules) ==
        "mixture-of-experts: expected gate, up and down of 1 experts, got 9 weights");
  std::vector<Tensor> in = operands(x, logits);
  in[3] = f32({2, 1}, {1, 1});
  CHECK(error(in, rules) == "mixture-of-experts: up 0 must be [1, 1], got [2, 1]");
  in[2] = f32({1, 2}, {1, 1});
  CHECK(error(in, rules) == "mixture-of-experts: gate 0 must be [n, 1], got [1, 2]");
  CHECK(error(operands(x, Tensor(Dense::zeros(DType::F32, {3, 3}))), rules) ==
        "mixture-of-experts: x is [2, 1] but the router logits are [3, 3]");
}
