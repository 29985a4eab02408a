// SPDX-License-Identifier: Apache-2.0
// Between steps: new positions, norms of gradients, scaled gradients.
#include <doctest/doctest.h>

#include "libsten/core/registry/structure.h"
#include "libsten/training/optim/adamw.h"
#include "libsten/training/optim/gradients.h"
#include "libsten/training/optim/select.h"
#include "libsten/training/optim/sgd.h"
#include "tests/support/parts.h"

using namespace sten;
using namespace sten::testing;

namespace {

Sparsifier sparsifier(const char* spec) { return registry().sparsifier(Spec::parse(spec)); }

}  // namespace

TEST_CASE("selecting new positions preserves the optimizer state of positions that stay") {
  Parameter p("w", f32({2, 4}, {8, 1, 7, 2, 3, 6, 4, 5}));
  const Sgd sgd({.rate = 0, .momentum = 0.5});
  sgd.step(p, f32({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}));
  select_positions(p, sparsifier("magnitude:sparsity=0.5"), Spec("masked"));
  CHECK(floats(p.value.to_dense()) == std::vector<float>{8, 0, 7, 0, 0, 6, 0, 5});
  CHECK(floats(p.state.at("momentum").to_dense()) == std::vector<float>{1, 0, 3, 0, 0, 6, 0, 8});
  // Changes to a layout that stores only values, then to others.
  select_positions(p, sparsifier("magnitude:sparsity=0.625"), Spec("csr"));
  CHECK(floats(p.value.to_dense()) == std::vector<float>{8, 0, 7, 0, 0, 6, 0, 0});
  CHECK(floats(p.state.at("momentum").to_dense()) == std::vector<float>{1, 3, 6});
  select_positions(p, sparsifier("magnitude:sparsity=0.75"), Spec("masked"));
  CHECK(floats(p.value.to_dense()) == std::vector<float>{8, 0, 7, 0, 0, 0, 0, 0});
  CHECK(floats(p.state.at("momentum").to_dense()) == std::vector<float>{1, 0, 3, 0, 0, 0, 0, 0});
}

TEST_CASE("a failed selection of positions leaves the weight unchanged") {
  Parameter p("w", f32({1, 4}, {4, 3, 2, 1}));
  const AdamW adam;
  adam.step(p, f32({1, 4}, {1, 1, 1, 1}));
  const Dense before = p.value.to_dense();
  CHECK(
      fault_of([&] { select_positions(p, sparsifier("movement:sparsity=0.5"), Spec("masked")); }));
  CHECK(fault_of([&] {
    select_positions(p, sparsifier("magnitude:sparsity=0.25"), Spec::parse("nm:n=2,m=4"));
  }));
  CHECK(p.value.is<Dense>());
  CHECK(same_bits(p.value.to_dense(), before));
}

TEST_CASE("the gradient norm of a masked weight includes only kept positions") {
  const Dense g = f32({2, 4}, {3, 100, 0, 4, 100, 100, 0, 12});
  const Tensor w = registry().pack(f32({2, 4}, {1, 0, 1, 1, 0, 0, 1, 1}),
                                   mask_of({2, 4}, {1, 0, 1, 1, 0, 0, 1, 1}), Spec("masked"));
  CHECK(squared_norm(g, w) == 169);
  CHECK(squared_norm(g, g) == 30169);
  CHECK(squared_norm(f32({3}, {1, 2, 2}), f32({3}, {0, 0, 0})) == 9);
}

TEST_CASE("the norm of a large gradient is bit-identical on 1, 2 and 5 threads") {
  Dice dice(3);
  const Dense g = normals(dice, {300, 1001});
  const Tensor w = packed(g, random_mask(dice, {300, 1001}, 0.3), "masked");
  double want = 0;
  for (Index i = 0; i < g.size(); ++i)
    if (w.stored()[i]) want += std::pow(double{g.values.as<float>()[i]}, 2);
  std::vector<double> norms;
  for (const int n : {1, 2, 5}) {
    const Threads threads(n);
    norms.push_back(squared_norm(g, w));
  }
  CHECK(norms[0] == doctest::Approx(want).epsilon(1e-12));
  CHECK(norms[1] == norms[0]);
  CHECK(norms[2] == norms[0]);
}

TEST_CASE("a step with scale_gradient is bit-identical to one with a gradient scaled beforehand") {
  Dice dice(4);
  const Shape shape{8, 16};
  const Dense x = normals(dice, shape), g = normals(dice, shape);
  Dense half = g;
  for (float& v : half.values.mutate<float>()) v *= 0.5f;
  for (const char* spec : {"dense", "masked", "csr", "nmg:n=1,m=4,g=2", "nmgv:n=1,m=2,g=2,v=4"})
    for (const bool reselect : {false, true}) {
      CAPTURE(std::string(spec));
      CAPTURE(reselect);
      const Spec layout = Spec::parse(spec);
      const Sparsifier by = is_structure(layout) ? registry().sparsifier(layout)
                                                 : sparsifier("magnitude:sparsity=0.5");
      Parameter a("w", x);
      if (!layout.is("dense")) select_positions(a, by, layout);
      Parameter b = a;
      const AdamW adam;
      for (int i = 0; i < 3; ++i) {
        Update u = reselect ? Update::resparsify(by) : Update();
        adam.step(b, half, u);
        adam.step(a, g, u.scale_gradient(0.5));
      }
      CHECK(same_parts(a.value.save(), b.value.save()));
      CHECK(same_bits(a.state.at("v").to_dense(), b.state.at("v").to_dense()));
    }
}

TEST_CASE("resparsification ranks by the given scores instead of the step's gradient") {
  Parameter p(packed(f32({1, 4}, {1, 1, 1, 1}), mask_of({1, 4}, {1, 1, 1, 1}), "masked"));
  const Dense g = f32({1, 4}, {0, 0, 9, 9});
  const Dense scores = f32({1, 4}, {4, 1, 3, 2});
  Sgd({.rate = 0}).step(p, g, Update::resparsify(sparsifier("movement:sparsity=0.5"), scores));
  CHECK(floats(p.value.to_dense()) == std::vector<float>{1, 0, 1, 0});
}

TEST_CASE("add_gradient sums gradients in their sparse layout and rejects a dense one") {
  const Mask mask = mask_of({2, 2}, {1, 0, 0, 1});
  Tensor sum = packed(f32({2, 2}, {1, 0, 0, 2}), mask, "csr");
  add_gradient(sum, packed(f32({2, 2}, {3, 0, 0, 4}), mask, "csr"));
  CHECK(sum.layout() == "csr");
  CHECK(floats(sum.to_dense()) == std::vector<float>{4, 0, 0, 6});
  CHECK(fault_of([&] { add_gradient(sum, f32({2, 2}, {1, 1, 1, 1})); }) == Fault::usage);
}
