// SPDX-License-Identifier: Apache-2.0
// Steps that resparsify a weight.
#include <doctest/doctest.h>

#include "libsten/core/sparsify/resparsify.h"
#include "tests/optim/reference.h"
#include "tests/support/laws.h"

using namespace sten;
using namespace sten::testing;

namespace {

Sparsifier named(std::string_view spec) { return registry().sparsifier(Spec::parse(spec)); }

std::vector<float> momentum_of(const Parameter& p) {
  return floats(p.state.at("momentum").to_dense());
}

}  // namespace

TEST_CASE("a pruned weight regrows only in a step that resparsifies") {
  const Tensor start = packed(f32({1, 4}, {4, 0, 3, 0}), "masked");
  const Dense g = f32({1, 4}, {0, -8, 1, 0});
  const Sgd sgd({.rate = 1, .momentum = 0.5});

  Parameter fixed(start);
  sgd.step(fixed, g);
  CHECK(floats(fixed.value.to_dense()) == std::vector<float>{4, 0, 2, 0});

  Parameter fresh(start);
  sgd.step(fresh, g, Update::resparsify(named("magnitude:sparsity=0.5")));
  CHECK(fresh.value.layout() == "masked");
  CHECK(floats(fresh.value.to_dense()) == std::vector<float>{4, 8, 0, 0});
  CHECK(ones_of(fresh.value.stored()) == std::vector<int>{1, 1, 0, 0});
  // The momentum of dropped positions is cleared.
  CHECK(momentum_of(fresh) == std::vector<float>{0, -8, 0, 0});
}

TEST_CASE("momentum follows its weights when csr, csc, coo and bitmask are resparsified") {
  for (const char* layout : {"csr", "csc", "coo", "bitmask"}) {
    CAPTURE(std::string(layout));
    Parameter p(packed(f32({2, 2}, {4, 3, 0, 0}), layout));
    const Sgd sgd({.rate = 1, .momentum = 0.5});
    sgd.step(p, f32({2, 2}, {1, 2, 0, 0}));  // 3, 1
    REQUIRE(momentum_of(p) == std::vector<float>{1, 2});
    // Momenta 1.5, 1, 7, 0, weights 1.5, 0, -7, 0.
    sgd.step(p, f32({2, 2}, {1, 0, 7, 0}), Update::resparsify(named("magnitude:sparsity=0.5")));
    CHECK(p.value.layout() == layout);
    CHECK(floats(p.value.to_dense()) == std::vector<float>{1.5, 0, -7, 0});
    CHECK(momentum_of(p) == std::vector<float>{1.5, 7});
    // The next step uses the moved momenta.
    sgd.step(p, f32({2, 2}, {0, 9, 0, 9}));
    CHECK(floats(p.value.to_dense()) == std::vector<float>{0.75, 0, -10.5, 0});
  }
}

TEST_CASE("steps with and without resparsification match dense steps pruned by the same masks") {
  Dice dice(5);
  const Shape shape{12, 24};
  for (const DType dtype : {DType::F32, DType::F64})
    for (const char* name : {"dense", "masked", "csr", "bcsr:h=2,w=3", "ell", "nm:n=2,m=4",
                             "nmg:n=2,m=4,g=2", "nmg:n=1,m=10,g=1", "nmgv:n=1,m=2,g=2,v=4"}) {
      CAPTURE(std::string(name));
      const Spec layout = Spec::parse(name);
      const Sparsifier by = chooser_for(layout).value_or(named("magnitude:sparsity=0.3"));
      const Dense x = random_reals(dice, dtype, shape);
      Parameter p(registry().pack(x, by.select(x), layout));
      Reference want(p.value.to_dense());
      // A small eps would give all regrown weights the same magnitude.
      const AdamW adam({.rate = 0.3, .eps = 0.5});
      for (int step = 0; step < 6; ++step) {
        CAPTURE(step);
        const Dense g = random_reals(dice, dtype, shape);
        if (step % 3 == 2) {
          adam.step(p, g, Update::resparsify(by));
          want.step(adam.options, g);
          // Rounding differences would change the selection; these values have none.
          Dense updated = Dense::zeros(dtype, shape);
          for (Index i = 0; i < updated.size(); ++i) set_real(updated, i, want.w[i]);
          want.prune(by.select(updated));
        } else {
          const Mask slots = slot_mask(p.value);
          adam.step(p, native_gradient(p.value, g));
          want.step(adam.options, g, &slots);
        }
        REQUIRE(want.far_from(p.value.to_dense()) == "");
      }
    }
}

TEST_CASE("a sparsifier that ranks by gradients receives the gradient of the current step") {
  Parameter p(packed(f32({1, 4}, {1, 2, 3, 4}), "masked"));
  // |w g| with the updated w: 0.99 * 1, 2 * 0, 3 * 0, 3.9 * 10.
  Sgd({.rate = 0.01})
      .step(p, f32({1, 4}, {1, 0, 0, 10}), Update::resparsify(named("gradient:sparsity=0.5")));
  CHECK(ones_of(p.value.stored()) == std::vector<int>{1, 0, 0, 1});
}

TEST_CASE("resparsification rejects a sparse gradient and a missing own sparsifier") {
  const Tensor w = packed(f32({1, 4}, {1, 2, 0, 0}), "csr");
  Parameter p("fc1.weight", w);
  const Sgd sgd({.rate = 1, .momentum = 0.5});
  const auto text =
      error_of([&] { sgd.step(p, w, Update::resparsify(named("magnitude:sparsity=0.5"))); });
  CHECK(has(text, "fc1.weight"));
  CHECK(has(text, "dense gradient"));
  CHECK(fault_of([&] { sgd.step(p, w.to_dense(), Update::resparsify(Resparsify{})); }) ==
        Fault::usage);
  CHECK(same_bits(p.value.to_dense(), w.to_dense()));
}
