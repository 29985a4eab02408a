// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/nn/mlp.h"

#include <doctest/doctest.h>

#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

TEST_CASE("an MLP applies its activation between layers but not after the last") {
  const Graph g = mlp({4, 7, 5, 3}, "tanh");
  const NamedValues<Tensor> w = initial_weights(g, 1);
  Dice dice(1);
  const Tensor x = normals(dice, {6, 4});
  Tensor wanted = x;
  for (int i = 0; i < 3; ++i) {
    const std::string layer = fmt::format("layers.{}", i);
    wanted = linear(wanted, w.at(layer + ".weight"), w.at(layer + ".bias"));
    if (i < 2) wanted = tanh(wanted);
  }
  CHECK(g.outputs() == std::vector<std::string>{"layers.2"});
  CHECK(same_bits(g.run<Tensor>(w, {{"x", x}}).at("layers.2").to_dense(), wanted.to_dense()));
  CHECK((g.find_node("layers.0.tanh")->op == Name("tanh")));
  CHECK(g.find_node("layers.2.tanh") == nullptr);
}

TEST_CASE("an MLP rejects missing or zero sizes and unknown activations") {
  CHECK(error_of([] { mlp({4}); }) == "mlp: sizes must be 2 or more integers >= 1, got [4]");
  CHECK(has(error_of([] { mlp({4, 0}); }), "got [4, 0]"));
  CHECK(has(error_of([] { mlp({4, 2, 2}, "gulu"); }), "did you mean 'gelu'"));
}
