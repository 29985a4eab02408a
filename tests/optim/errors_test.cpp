// SPDX-License-Identifier: Apache-2.0
// Errors of steps, and the optimizer state that a checkpoint has to restore.
#include <doctest/doctest.h>

#include "tests/optim/reference.h"
#include "tests/support/parts.h"

using namespace sten;
using namespace sten::testing;

namespace {

// A layout of integers.
struct Ternary {
  static constexpr const char* name = "user-ternary";
  Shape extents;
  Array<std::int8_t> signs;

  static void parts(auto& self, auto&& f) {
    f("shape", self.extents);
    f("signs", self.signs, self.extents);
  }
  const Shape& shape() const { return extents; }
  Dense to_dense() const {
    Dense x = Dense::zeros(DType::F32, extents);
    for (Index i = 0; i < x.size(); ++i) x.values.mutate<float>()[i] = signs[i];
    return x;
  }
  static Ternary pack(const Dense& x, const Mask&, const Spec&) {
    return {x.extents, Array<std::int8_t>(x.size())};
  }
};

std::string step_error(const Tensor& w, const Tensor& g) {
  Parameter p("fc1.weight", w);
  return error_of([&] { Sgd({.rate = 1}).step(p, g); });
}

}  // namespace

TEST_CASE("an optimizer step rejects wrong shapes and dtypes, and the error names them") {
  const Dense w = f32({2, 2}, {1, 0, 3, 4});
  const auto shape = step_error(w, f32({4}, {1, 2, 3, 4}));
  CHECK(has(shape, "sgd"));
  CHECK(has(shape, "fc1.weight"));
  CHECK(has(shape, "[2, 2]"));
  CHECK(has(shape, "[4]"));
  CHECK(has(step_error(w, Dense::zeros(DType::F64, {2, 2})), "F64"));
  CHECK(has(step_error(Dense::zeros(DType::BF16, {2, 2}), w), "BF16"));
  const auto layout = step_error(Ternary::pack(w, Mask::all({2, 2}), Spec("user-ternary")), w);
  CHECK(has(layout, "I8, expected F32 or F64"));
}

TEST_CASE("optimizer state of the wrong shape is rejected before the weight changes") {
  const Dense g = f32({2, 2}, {1, 1, 1, 1});
  Parameter p("w", packed(f32({2, 2}, {1, 0, 3, 4}), "csr"));
  const AdamW adam;
  adam.step(p, g);
  const Dense before = p.value.to_dense();
  p.state.insert_or_assign("v", Dense::zeros(DType::F32, {2, 2}));
  const auto text = error_of([&] { adam.step(p, g); });
  CHECK(has(text, "'v'"));
  CHECK(has(text, "[3]"));
  CHECK(same_bits(p.value.to_dense(), before));
  p.state.insert_or_assign("v", Dense::zeros(DType::F32, {3}));
  p.state.insert_or_assign("step", Dense::zeros(DType::F32, {}));
  CHECK(fault_of([&] { adam.step(p, g); }) == Fault::usage);
}

TEST_CASE("training resumed from a saved weight and optimizer state is bit-identical") {
  Dice dice(1);
  const Dense x = normals(dice, {8, 16});
  const Spec spec = Spec::parse("nmg:n=2,m=4,g=2");
  const auto run = [&](auto optimizer) {
    Parameter p("w", registry().prune(x, spec, spec));
    for (int i = 0; i < 3; ++i) optimizer.step(p, x);
    // As in a checkpoint: by name and bytes.
    Parameter q("w", registry().load(p.value.save()));
    for (const auto& [name, s] : p.state) q.state.emplace(name, registry().load(s.save()));
    for (int i = 0; i < 3; ++i) {
      optimizer.step(p, x);
      optimizer.step(q, x);
    }
    CHECK(same_parts(p.value.save(), q.value.save()));
    CHECK(p.state.size() == q.state.size());
  };
  run(Sgd({.rate = 0.1, .momentum = 0.9}));
  run(AdamW());
}

TEST_CASE("strict mode rejects gradients without the layout and positions of a csr weight") {
  Dice dice(2);
  const Dense x = normals(dice, {8, 8}), g = normals(dice, {8, 8});
  const Tensor w = packed(x, random_mask(dice, {8, 8}, 0.5), "csr");
  const Strict strict;
  Parameter p("w", w);
  const Sgd sgd({.rate = 1});
  sgd.step(p, native_gradient(w, g));
  const Dense after = p.value.to_dense();
  CHECK(fault_of([&] { sgd.step(p, g); }) == Fault::check);
  CHECK(fault_of([&] { sgd.step(p, packed(g, "coo")); }) == Fault::check);
  CHECK(fault_of([&] { sgd.step(p, packed(g, "csr")); }) == Fault::check);
  CHECK(same_bits(p.value.to_dense(), after));
  // Dense and masked weights accept such gradients directly.
  Parameter dense(x), masked(packed(x, "masked"));
  sgd.step(dense, g);
  sgd.step(masked, g);
  sgd.step(masked, packed(g, "masked"));
}

TEST_CASE("a sparse gradient counts as 0 at positions that it does not store") {
  Parameter p(packed(f32({1, 4}, {1, 2, 0, 0}), "csr"));
  Sgd({.rate = 1}).step(p, packed(f32({1, 4}, {0, 5, 6, 0}), "coo"));
  CHECK(floats(p.value.to_dense()) == std::vector<float>{1, -3, 0, 0});
}
