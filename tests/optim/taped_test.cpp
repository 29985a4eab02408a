// SPDX-License-Identifier: Apache-2.0
// Steps with gradients from a tape.
#include <doctest/doctest.h>

#include "libsten/compute/ops/common/operators.h"
#include "tests/optim/reference.h"
#include "tests/product/sparse_tensors.h"

using namespace sten;
using namespace sten::testing;

TEST_CASE(
    "AdamW takes a sparse layer's gradient without conversion and matches the dense reference") {
  Dice dice(1);
  const Strict strict;
  for (const std::string& name : sparse_specs)
    for (const Shape& shape : std::vector<Shape>{{8, 16}, {13, 41}, {5, 3}}) {
      CAPTURE(name);
      CAPTURE(to_string(shape));
      const Tensor start = sparse_tensor(dice, normals(dice, shape), Spec::parse(name));
      const Mask slots = slot_mask(start);
      Parameter p("w", start);
      Reference want(start.to_dense());
      const AdamW adam({.rate = 0.05});
      const Dense x = normals(dice, {4, shape[1]}), y = normals(dice, {4, shape[0]});
      for (int step = 0; step < 3; ++step) {
        std::optional<Tensor> gradient, dense_gradient;
        {
          Tape tape;
          const Var w = tape.parameter(p.value), d = tape.parameter(p.value.to_dense());
          tape.backward(add(mse(linear<Var>(Tensor(x), w), Tensor(y)),
                            mse(linear<Var>(Tensor(x), d), Tensor(y))));
          gradient = w.grad();
          dense_gradient = d.grad();
        }
        CHECK(gradient->spec() == start.spec());
        adam.step(p, *gradient);
        want.step(adam.options, dense_gradient->as<Dense>(), &slots);
      }
      // Adam amplifies rounding errors of gradients near 0.
      const Dense after = p.value.to_dense();
      for (Index i = 0; i < after.size(); ++i)
        CHECK(std::abs(real_at(after, i) - want.w[i]) < 2e-3);
      CHECK(same_bits(after, masked_by(after, slots)));
      // Padding is 0, or load() would refuse it.
      CHECK(same_bits(registry().load(p.value.save()).to_dense(), after));
    }
}
