// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/drop/module_removal.h"

#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

#include "libsten/model/nn/causal_model.h"
#include "libsten/programs/drop/indexed_name.h"
#include "tests/support/tensors.h"

using namespace sten;

namespace {

std::string config_of(const std::string& name) {
  std::stringstream text;
  text << std::ifstream(STEN_SOURCE_DIR "/tests/nn/decoders/" + name + "/config.json").rdbuf();
  return text.str();
}

ModuleRemoval removal_of(const std::string& name, std::vector<Index> layers,
                         std::vector<std::vector<Index>> experts = {}) {
  const std::string config = config_of(name);
  return {causal_layers(config, name), causal_model(config, name).graph, std::move(layers),
          std::move(experts)};
}

}  // namespace

TEST_CASE("a module index is recognized only as a whole component of a name") {
  CHECK(indexed_name("model.layers.12.mlp", "model.layers")->index == 12);
  CHECK(indexed_name("model.layers.12.mlp", "model.layers")->rest == "mlp");
  for (const char* other : {"model.layers.12", "model.layers", "model.layers.x.mlp",
                            "model.layers.1x.mlp", "model.layers2.1.mlp", "layers.12.mlp"})
    CHECK_FALSE(indexed_name(other, "model.layers"));
}

TEST_CASE("the largest scores are kept, and of equal scores the first") {
  CHECK(largest({3, 1, 2, 1}, 1) == std::vector<Index>{0, 1, 2});
  CHECK(largest({3, 1, 2, 1}, 3) == std::vector<Index>{0});
  CHECK(largest({0, 0, 5}, 1) == std::vector<Index>{0, 2});
}

TEST_CASE("removing layers renumbers the remaining layers under all name prefixes") {
  const ModuleRemoval removal = removal_of("gemma3", {0, 2});
  CHECK(removal.name_of("model.layers.0.mlp.up_proj.weight") ==
        "model.layers.0.mlp.up_proj.weight");
  CHECK(removal.name_of("model.layers.2.mlp.up_proj.weight") ==
        "model.layers.1.mlp.up_proj.weight");
  CHECK(removal.name_of("layers.2.self_attn.q_norm.weight") == "layers.1.self_attn.q_norm.weight");
  CHECK(removal.name_of("language_model.model.layers.2.x") == "language_model.model.layers.1.x");
  CHECK_FALSE(removal.name_of("model.layers.1.self_attn.rotary_emb.inv_freq"));
  CHECK(removal.name_of("vision_tower.encoder.layers.1.x") == "vision_tower.encoder.layers.1.x");
  CHECK(removal.name_of("model.embed_tokens.weight") == "model.embed_tokens.weight");
}

TEST_CASE("removing experts renumbers the others and drops rows of routers and stacked experts") {
  const ModuleRemoval removal = removal_of("mixtral", {1}, {{0, 1, 2}, {1, 3}});
  const std::string moe = "model.layers.1.block_sparse_moe.";
  CHECK(removal.name_of(moe + "experts.3.w1.weight") ==
        "model.layers.0.block_sparse_moe.experts.1.w1.weight");
  CHECK_FALSE(removal.name_of(moe + "experts.2.w1.weight"));
  CHECK(removal.name_of(moe + "gate.weight") == "model.layers.0.block_sparse_moe.gate.weight");
  for (const char* all : {"gate.weight", "experts.gate_up_proj"}) {
    REQUIRE(removal.rows_of(moe + all));
    CHECK(*removal.rows_of(moe + all) == std::vector<Index>{1, 3});
  }
  CHECK_FALSE(removal.rows_of(moe + "experts.3.w1.weight"));
  CHECK_FALSE(removal.rows_of("model.layers.1.self_attn.q_proj.weight"));
  const Dense rows = rows_of(Dense::of({3, 2}, {1, 2, 3, 4, 5, 6}), {0, 2});
  CHECK(rows.extents == Shape{2, 2});
  CHECK(rows.values.as<float>()[2] == 5);
}
