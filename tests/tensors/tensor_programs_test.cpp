// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "libsten/core/tensor/access.h"
#include "libsten/files/checkpoint/named_tensors.h"
#include "libsten/programs/convert/convert.h"
#include "libsten/programs/prune/prune.h"
#include "libsten/programs/tensors/tensor_programs.h"
#include "tests/support/temp_dir.h"

using namespace sten;

namespace {

const std::string model_file = STEN_SOURCE_DIR "/recipes/models/shakespeare-bert/model.safetensors";

TensorList shipped_model() {
  TensorList all;
  for (auto& [name, x] : load_tensors(model_file)) all.emplace_back(name, x);
  return all;
}

// The tensors of a file that sten-prune writes with these options.
NamedTensors pruned_by_program(PruneOptions o) {
  const TempDir folder;
  o.input = model_file;
  o.output.path = folder / "out.safetensors";
  prune(PruneRequest(o));
  NamedTensors all = load_tensors(o.output.path);
  for (auto& [name, x] : all) x = x.to_dense();
  return all;
}

void check_equal(const TensorList& got, const NamedTensors& expected) {
  for (const auto& tensor : got) {
    CAPTURE(tensor.first);
    CHECK(to_vector<float>(tensor.second) == to_vector<float>(expected.at(tensor.first)));
  }
}

}  // namespace

TEST_CASE("pruning tensors in memory gives the same values as sten-prune") {
  PruneOptions o;
  o.tensors.sparsity = 0.9;
  o.tensors.scope = PruneScope::global;
  PruneSettings s{.sparsity = 0.9, .scope = "global"};
  TensorList got = prune_tensors(shipped_model(), s, {}, {});
  CHECK(got.size() == 25);  // the default selection
  check_equal(got, pruned_by_program(o));

  o = {};
  o.tensors.structure = o.tensors.to = Spec::parse("1:4:4");
  o.patterns.include = {"*.query.weight"};
  o.rules = {"*.0.*.query.weight=2:4"};
  s = {.structure = "1:4:4", .to = "auto"};
  got = prune_tensors(shipped_model(), s, {{"*.query.weight"}, {}}, o.rules);
  CHECK(got.size() == 4);
  CHECK(got.front().second.spec().str() == "nm:n=2,m=4");
  CHECK(got.back().second.spec().str() == "nmg:n=1,m=4,g=4");
  o.tensors.to = Spec("auto");
  check_equal(got, pruned_by_program(o));
}

TEST_CASE("pruning tensors in memory rejects invalid requests and names the tensor or option") {
  const TensorList model = {{"w", tensor_of({4, 4}, std::vector<float>(16, 1))},
                            {"b", tensor_of({4}, std::vector<float>(4, 1))}};
  const PruneSettings half{.sparsity = 0.5};
  CHECK_THROWS_WITH(prune_tensors(model, half, {{"v"}, {}}, {}),
                    "--include 'v' matches none of the 2 tensors of tensors; near are w, b");
  CHECK_THROWS_WITH(prune_tensors(model, half, {{"b"}, {}}, {}),
                    "--include 'b': expected rank 2 or more, got 1");
  CHECK_THROWS_WITH(prune_tensor(model[1].second, half), "tensor: expected rank 2 or more, got 1");
  CHECK_THROWS_WITH(prune_tensor(model[0].second, {}),
                    "missing --sparsity, the fraction of weights to remove, such as 0.9");
  const TensorList two = {model[0], model[0]};
  CHECK_THROWS_WITH(prune_tensors(two, half, {}, {}), doctest::Contains("'w'"));
}

TEST_CASE("converting tensors in memory is lossless unless the layout prunes") {
  const Tensor x = tensor_of({2, 4}, std::vector<float>{0, 0, 3, 0, 0, 0, 0, -8});
  for (const char* to : {"csr", "coo", "bitmask", "nm:n=1,m=4", "auto"}) {
    const Tensor sparse = convert_tensor(x, to, true);
    CHECK(to_vector<float>(convert_tensor(sparse, "dense", false)) == to_vector<float>(x));
  }
  const Tensor full = tensor_of({2, 4}, std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(to_vector<float>(convert_tensor(full, "1:4", false)) ==
        std::vector<float>{0, 0, 0, 4, 0, 0, 0, 8});
  CHECK_THROWS_WITH(convert_tensor(full, "1:4", true),
                    "nm:n=1,m=4 would drop the nonzero at [0, 0]");
}

TEST_CASE("energy of tensors in memory is the kept share of magnitude, with the total last") {
  const Tensor before = tensor_of({2, 2}, std::vector<float>{1, -2, 3, -4});
  const Tensor after = tensor_of({2, 2}, std::vector<float>{0, 0, 3, -4});
  const TensorEnergy e = tensor_energy(after, &before);
  CHECK(e.energy == 0.7);
  CHECK(e.nnz == 2);
  CHECK(e.zeros == 2);
  CHECK(!tensor_energy(after, nullptr).energy);
  const TensorList then = {{"a", before}, {"b", before}}, now = {{"a", after}, {"b", before}};
  const auto all = tensor_energies(now, &then, {{"*"}, {}});
  REQUIRE(all.size() == 3);
  CHECK(all[1].energy == 1);
  CHECK(all[2].energy == 0.85);
  CHECK(all[2].name.empty());
  const TensorList other = {{"b", before}};
  CHECK_THROWS_WITH(tensor_energies(now, &other, {{"*"}, {}}), "original: tensor 'a' not found");
}

TEST_CASE("matching_names finds the matches of a pattern and rejects a pattern without a match") {
  const std::vector<std::string> names = {"a.query", "a.key", "b.query"};
  CHECK(matching_names(names, "*.query", "rule", "layers", "the model") ==
        std::vector<std::size_t>{0, 2});
  CHECK_THROWS_WITH(matching_names(names, "*.value", "rule", "layers", "the model"),
                    doctest::Contains("rule '*.value' matches none of the 3 layers of the model"));
}
