// Names of tensors in GGUF and in Hugging Face checkpoints.
#include "libsten/files/gguf/tensor_names.h"

#include <doctest/doctest.h>

#include <vector>

using namespace sten;

TEST_CASE("names are translated in both directions") {
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
                            "rope_freqs.weight", "blk.0.ffn_gate_exps.weight"})
    CHECK(!huggingface_name("llama", other));
  CHECK(!has_gguf_names("mamba"));
  CHECK(!huggingface_name("mamba", "output.weight"));
}

TEST_CASE("rows of attention heads are reordered as by convert_hf_to_gguf") {
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
