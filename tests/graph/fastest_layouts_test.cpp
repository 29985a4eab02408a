#include "libsten/graph/fastest_layouts.h"

#include <doctest/doctest.h>

#include "libsten/dispatch/registry.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

TEST_CASE(
    "weights are put into the fastest of the layouts that hold them, and stay what they are") {
  Dice dice(1);
  const Graph g({{"x"},
                 {{"sparse", {96, 64}}, {"full", {32, 96}}, {"image", {16, 8, 3, 3}}},
                 {{"a", "linear", {"x", "sparse"}}, {"b", "linear", {"a", "full"}}},
                 {"b"}});
  const Dense pruned = registry()
                           .prune(normals(dice, {96, 64}).to_dense(),
                                  Spec::parse("magnitude:sparsity=0.95"), Spec("dense"))
                           .to_dense();
  const NamedValues<Tensor> values{{"x", normals(dice, {256, 64})},
                                   {"sparse", pruned},
                                   {"full", normals(dice, {32, 96})},
                                   {"image", normals(dice, {16, 8, 3, 3})}};
  const auto chosen = in_fastest_layouts(g, values, {"sparse", "full", "image"});
  CHECK(chosen.size() == 3);
  CHECK(chosen.at("full").layout() == "dense");
  CHECK(chosen.at("image").layout() == "dense");  // no node takes it
  // 1 of 4 does not hold them.
  const std::string layout(chosen.at("sparse").layout());
  CHECK((layout == "dense" || layout == "csr"));
  for (const auto& [name, w] : chosen) {
    const Dense is = w.to_dense(), was = values.at(name).to_dense();
    CHECK(std::ranges::equal(is.values.bytes(), was.values.bytes()));
  }
}
