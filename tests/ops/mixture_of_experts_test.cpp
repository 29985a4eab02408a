// Mixture of experts.
#include <doctest/doctest.h>

#include <cmath>

#include "libsten/compute/ops/common/operators.h"
#include "tests/ops/operands.h"

using namespace sten;
using namespace sten::testing;

namespace {

Tensor mixture(std::vector<Tensor> in, const Attributes& a) {
  return apply("mixture-of-experts", in, a);
}

// Three experts of one feature: expert e gives relu(x) * x * (e + 1).
const Tensor gate_up = f32({3, 2, 1}, {1, 1, 1, 1, 1, 1});
const Tensor down = f32({3, 1, 1}, {1, 2, 3});
const Attributes rules = Attributes().set("activation", "relu");

Attributes choosing(Index k, bool normalize) {
  return Attributes(rules).set("top_k", k).set("normalize", Index{normalize});
}

}  // namespace

TEST_CASE("a mixture adds the top experts' results, by their probabilities or shares of them") {
  const Tensor x = tensor({3, 1}, {2, 1, -1});
  // Probabilities 1 / 8, 2 / 8, 5 / 8, in another order for the second token.
  const auto log = [](float p) { return std::log(p); };
  const Tensor logits =
      tensor({3, 3}, {log(1), log(2), log(5), log(5), log(1), log(2), log(1), log(2), log(5)});
  const auto values = [&](Index k, bool normalize) {
    return floats(mixture({x, logits, gate_up, down}, choosing(k, normalize)).to_dense());
  };
  const auto check = [](const std::vector<float>& got, std::vector<float> wanted) {
    for (std::size_t i = 0; i < 3; ++i) CHECK(got[i] == doctest::Approx(wanted[i]));
  };
  check(values(1, false), {4 * 3 * 5 / 8.0f, 1 * 5 / 8.0f, 0});
  check(values(1, true), {4 * 3, 1, 0});
  check(values(2, false), {4 * (3 * 5 + 2 * 2) / 8.0f, (1 * 5 + 3 * 2) / 8.0f, 0});
  check(values(2, true), {4 * (3 * 5 + 2 * 2) / 7.0f, (1 * 5 + 3 * 2) / 7.0f, 0});
}

TEST_CASE("of experts that are as probable, the first ones are taken, and others get no gradient") {
  const Tensor x = tensor({1, 1}, {1}), logits = tensor({1, 3}, {0, 0, 0});
  CHECK(is(mixture({x, logits, gate_up, down}, choosing(2, true)), tensor({1, 1}, {1.5})));
  Tape tape;
  const Var w = tape.parameter(down), r = tape.parameter(logits);
  const Var y =
      apply("mixture-of-experts", std::vector<Var>{Var(x), r, Var(gate_up), w}, choosing(2, true));
  tape.backward(y, tensor({1, 1}, {1}));
  CHECK(is(*w.grad(), tensor({3, 1, 1}, {0.5, 0.5, 0})));
  // 0.5 * (1 - 1.5) and 0.5 * (2 - 1.5).
  const std::vector<float> slopes = floats(r.grad()->to_dense());
  CHECK(slopes[0] == doctest::Approx(-0.25));
  CHECK(slopes[1] == doctest::Approx(0.25));
  CHECK(std::abs(slopes[2]) < 1e-7f);
}

TEST_CASE("operands of a mixture that do not fit are refused with what they are") {
  const Tensor x = tensor({2, 1}, {1, 2}), logits = Dense::zeros(DType::F32, {2, 3});
  const auto error = [&](std::vector<Tensor> in, const Attributes& a) {
    return error_of([&] { mixture(std::move(in), a); });
  };
  CHECK(error({x, logits, gate_up, down}, choosing(4, false)) ==
        "mixture-of-experts: top_k must be in [1, 3], the number of experts, got 4");
  CHECK(error({x, logits, gate_up, down}, Attributes().set("activation", "sillu")) ==
        "mixture-of-experts: unknown activation \"sillu\", expected an elementwise operator of one "
        "input");
  CHECK(error({x, x, gate_up, down}, rules) ==
        "mixture-of-experts: gate_up must be [1, 2 n, 1], got [3, 2, 1]");
  CHECK(error({x, logits, gate_up, gate_up}, rules) ==
        "mixture-of-experts: down must be [3, 1, 1], got [3, 2, 1]");
  CHECK(error({x, Tensor(Dense::zeros(DType::F32, {3, 3})), gate_up, down}, rules) ==
        "mixture-of-experts: x is [2, 1] but the router logits are [3, 3]");
}
