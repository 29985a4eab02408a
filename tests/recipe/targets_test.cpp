// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/recipe/targets.h"

#include <doctest/doctest.h>

#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

const std::vector<Weight> weights{{"layer.10.weight", {4, 4}},
                                  {"layer.2.weight", {4, 4}},
                                  {"layer.2.bias", {4}},
                                  {"norm.weight", {4}},
                                  {"decoder.weight", {8, 4}}};

std::vector<std::vector<std::string>> match(const std::vector<std::string>& targets) {
  std::vector<SparsityRecipe> entries;
  for (const std::string& t : targets) entries.emplace_back().target = t;
  return match_targets(entries, weights);
}
std::string match_error(const std::vector<std::string>& targets) {
  return error_of([&] { match(targets); });
}

}  // namespace

TEST_CASE("targets match matrices by name, glob or regular expression, in natural order") {
  const auto found = match({"layer.*", "decoder.weight"});
  REQUIRE(found.size() == 2);
  CHECK(match({"re:layer[.]\\d+[.].*"})[0] == found[0]);
  CHECK(match({"{decoder,layer}.*,layer.2.weight"})[0] ==
        std::vector<std::string>{"decoder.weight", "layer.2.weight", "layer.10.weight"});
  CHECK(found[0] == std::vector<std::string>{"layer.2.weight", "layer.10.weight"});
  CHECK(found[1] == std::vector<std::string>{"decoder.weight"});
}

TEST_CASE("targets that match no weight, only vectors, or a weight twice are rejected") {
  CHECK(match_error({"*"}) == "");
  CHECK(match_error({"decoder.weigth"}) ==
        "/sparsity/0/target: 'decoder.weigth' matches none of the 5 weights of the model, did you "
        "mean 'decoder.weight'?");
  CHECK(match_error({"encoder.*"}) ==
        "/sparsity/0/target: 'encoder.*' matches none of the 5 weights of the model; near are "
        "decoder.weight, layer.2.weight, layer.10.weight");
  CHECK(match_error({"layer.*,decoder.weigth"}) == match_error({"decoder.weigth"}));
  CHECK(match_error({"norm.weight"}) ==
        "/sparsity/0/target: 'norm.weight' matches only weights of rank 0 or 1, which stay dense");
  CHECK(match_error({"decoder.*", "*"}) ==
        "/sparsity/1/target: weight 'decoder.weight' also matches /sparsity/0");
}
