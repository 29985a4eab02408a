// SPDX-License-Identifier: Apache-2.0
// Names of tensors in GGUF and in Hugging Face checkpoints.
#include "libsten/files/gguf/tensor_names.h"

#include <doctest/doctest.h>

#include <vector>

using namespace sten;

TEST_CASE("tensor names are translated between GGUF and Hugging Face in both directions") {
  struct Case {
    const char *architecture, *gguf, *huggingface;
    GgufChange change;
  };
  const Case cases[] = {
      {"llama", "blk.12.attn_q.weight", "model.layers.12.self_attn.q_proj.weight",
       GgufChange::rotary_query},
      {"llama", "output.weight", "lm_head.weight", GgufChange::none},
      {"qwen2", "blk.0.attn_q.bias", "model.layers.0.self_attn.q_proj.bias", GgufChange::none},
      {"qwen3", "blk.0.attn_k_norm.weight", "model.layers.0.self_attn.k_norm.weight",
       GgufChange::none},
      {"gemma2", "blk.3.ffn_norm.weight", "model.layers.3.pre_feedforward_layernorm.weight",
       GgufChange::add_one},
      {"gemma3", "blk.3.attn_q_norm.weight", "model.layers.3.self_attn.q_norm.weight",
       GgufChange::add_one},
      {"phi3", "blk.1.ffn_up.weight", "model.layers.1.mlp.gate_up_proj.weight", GgufChange::none},
      {"olmo2", "blk.1.post_ffw_norm.weight", "model.layers.1.post_feedforward_layernorm.weight",
       GgufChange::none},
      {"gptneox", "blk.5.attn_qkv.bias", "gpt_neox.layers.5.attention.query_key_value.bias",
       GgufChange::query_key_value},
      {"llama", "blk.2.ffn_gate_inp.weight", "model.layers.2.block_sparse_moe.gate.weight",
       GgufChange::none},
      {"qwen2moe", "blk.0.ffn_gate_inp_shexp.weight",
       "model.layers.0.mlp.shared_expert_gate.weight", GgufChange::row_as_vector},
      {"qwen2moe", "blk.0.ffn_down_shexp.weight",
       "model.layers.0.mlp.shared_expert.down_proj.weight", GgufChange::none},
  };
  for (const Case& c : cases) {
    CAPTURE(c.gguf);
    CHECK(has_gguf_names(c.architecture));
    const auto there = huggingface_name(c.architecture, c.gguf);
    const auto back = gguf_name(c.architecture, c.huggingface);
    REQUIRE(there);
    REQUIRE(back);
    CHECK(there->name == c.huggingface);
    CHECK(back->name == c.gguf);
    CHECK(there->change == c.change);
    CHECK(back->change == c.change);
  }
  for (const char* other : {"blk.0.attn_q", "blk.x.attn_q.weight", "blk..attn_q.weight",
                            "rope_freqs.weight", "blk.0.ffn_gate_exps", "blk.0.ffn_gate.x.weight"})
    CHECK(!huggingface_name("llama", other));
  CHECK(!has_gguf_names("mamba"));
  CHECK(!huggingface_name("mamba", "output.weight"));
}

TEST_CASE("Hugging Face names of single experts map to parts of a GGUF stack") {
  const auto stack = huggingface_name("qwen3moe", "blk.7.ffn_up_exps.weight");
  REQUIRE(stack);
  CHECK(stack->is_stack);
  CHECK(expert_name(stack->name, 12) == "model.layers.7.mlp.experts.12.up_proj.weight");
  const auto part = gguf_name("qwen3moe", "model.layers.7.mlp.experts.12.up_proj.weight");
  REQUIRE(part);
  CHECK(part->name == "blk.7.ffn_up_exps.weight");
  CHECK(part->is_stack);
  CHECK(part->expert == 12);
  // Early files of Mixtral have a tensor per expert.
  const auto apart = huggingface_name("llama", "blk.1.ffn_down.3.weight");
  REQUIRE(apart);
  CHECK(!apart->is_stack);
  CHECK(apart->name == "model.layers.1.block_sparse_moe.experts.3.w2.weight");
  CHECK(gguf_name("llama", apart->name)->name == "blk.1.ffn_down_exps.weight");
  for (const char* other : {"model.layers.7.mlp.experts.03.up_proj.weight",
                            "model.layers.7.mlp.experts.1234567890.up_proj.weight",
                            "model.layers.7.mlp.experts.gate_up_proj"})
    CHECK(!gguf_name("qwen3moe", other));
}

TEST_CASE("a matrix of one row is a vector in GGUF where llama.cpp expects one") {
  CHECK(huggingface_shape(GgufChange::row_as_vector, {5}) == Shape{1, 5});
  CHECK(gguf_shape(GgufChange::row_as_vector, {1, 5}) == Shape{5});
  CHECK(gguf_shape(GgufChange::none, {1, 5}) == Shape{1, 5});
}

TEST_CASE("rows of attention heads are reordered as in convert_hf_to_gguf") {
  // w.reshape(2 heads, 2, 3, n).swapaxes(1, 2): head 0 has the rows 0 3 1 4 2 5.
  std::vector<Index> pairs(12), qkv(12);
  for (Index r = 0; r < 12; ++r) {
    pairs[static_cast<std::size_t>(gguf_row(GgufChange::rotary_query, r, 12, 2))] = r;
    qkv[static_cast<std::size_t>(gguf_row(GgufChange::query_key_value, r, 12, 2))] = r;
  }
  CHECK(pairs == std::vector<Index>{0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11});
  // reshape(2 heads, 3, 2 rows, n): queries of both heads, then keys, then values.
  CHECK(qkv == std::vector<Index>{0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11});
}
