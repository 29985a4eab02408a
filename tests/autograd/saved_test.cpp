// SPDX-License-Identifier: Apache-2.0
// Tensors that implementations save for backward.
#include <doctest/doctest.h>

#include <cmath>
#include <memory>
#include <numbers>

#include "libsten/compute/ops/common/operators.h"
#include "libsten/compute/ops/common/output.h"
#include "tests/support/parts.h"

using namespace sten;
using namespace sten::testing;

namespace {

std::weak_ptr<const void> last_saved;

// 2^x. The dense implementation saves 2^x log(2) for the gradient; the csr implementation saves
// nothing, and its gradient computes the value from x.
Outputs power_of_two(const Call& call) {
  const Dense& x = call.in[0].as<Dense>();
  Dense y = unwritten<float>(x.extents), slope = y;
  for (Index i = 0; i < x.size(); ++i) {
    y.values.mutate<float>()[i] = std::exp2(x.values.as<float>()[i]);
    slope.values.mutate<float>()[i] = y.values.as<float>()[i] * std::numbers::ln2_v<float>;
  }
  auto owner = std::make_shared<Array<float>>(Array<float>(1));
  last_saved = owner;
  const float* at = owner->data();
  call.save("slope", slope);
  call.save("owner", Dense{{1}, Values(DType::F32, Array<float>::borrow(owner, at, 1).bytes())});
  return {y};
}
Outputs power_of_two_csr(const Call& call) {
  call.save("half", call.in[0]);
  throw Unsupported("not today");
}
int computed_again = 0;
Outputs power_of_two_grad(const Call& call) {
  CHECK(!call.saved("half"));
  const Tensor *slope = call.saved("slope"), &dy = call.in[0];
  if (slope) return {mul(dy, *slope)};
  ++computed_again;
  return {mul(dy, scale(apply("exp2-test", {call.in[1]}), std::numbers::ln2))};
}
const bool has_power =
    declare_operator("exp2-test", {SavedForBackward::inputs}) &&
    add_operator({"exp2-test", {"dense"}, {{}}}, power_of_two) &&
    add_operator({"exp2-test", {"csr"}, {{}}}, power_of_two_csr) &&
    add_operator({"exp2-test.grad", {"dense", any::layout}, {{}}}, power_of_two_grad);

float slope_at_1(const Tensor& x) {
  Tape tape;
  const Var v = tape.parameter(x, OutFormat::dense());
  tape.backward(apply("exp2-test", {v}));
  return v.grad()->values()->as<float>()[0];
}

}  // namespace

TEST_CASE(
    "tensors saved for backward reach the gradient and are freed with the recorded operator") {
  const float wanted = 2 * std::numbers::ln2_v<float>;
  const Tensor x = Dense::of({1}, {1});
  CHECK(slope_at_1(x) == wanted);
  CHECK(computed_again == 0);
  CHECK(last_saved.expired());
  {
    Tape tape;
    const Var v = tape.parameter(x), y = apply("exp2-test", {v});
    CHECK(!last_saved.expired());
    tape.backward(y, {}, true);  // retains the graph
    CHECK(!last_saved.expired());
    tape.backward(y);
    CHECK(last_saved.expired());
    CHECK(v.grad()->values()->as<float>()[0] == 2 * wanted);
    apply("exp2-test", {v});
    CHECK(!last_saved.expired());
  }
  CHECK(last_saved.expired());
  CHECK(computed_again == 0);
}

TEST_CASE("nothing is saved for backward without a tape or under NoGrad") {
  const Tensor x = Dense::of({1}, {1});
  apply("exp2-test", {x});
  CHECK(last_saved.expired());
  Tape tape;
  const Var v = tape.parameter(x);
  const Tape::NoGrad none(tape);
  apply("exp2-test", {v});
  CHECK(last_saved.expired());
}

TEST_CASE("after a fallback, the gradient receives only tensors that the fallback saved") {
  const Dense x = Dense::of({1, 1}, {1});
  CHECK(slope_at_1(registry().pack(x, Mask::all({1, 1}), Spec("csr"))) ==
        2 * std::numbers::ln2_v<float>);
  CHECK(computed_again == 0);
}
