#include "libsten/files/gguf/tensor_names.h"

#include <algorithm>
#include <span>

namespace sten {
namespace {

// Names without ".weight" or ".bias"; '#' stands for the number of the layer.
struct Row {
  std::string_view gguf, huggingface;
  GgufChange change = GgufChange::none;
};

constexpr Row llama[] = {
    {"token_embd", "model.embed_tokens"},
    {"output_norm", "model.norm"},
    {"output", "lm_head"},
    {"blk.#.attn_norm", "model.layers.#.input_layernorm"},
    {"blk.#.attn_q", "model.layers.#.self_attn.q_proj", GgufChange::rotary_query},
    {"blk.#.attn_k", "model.layers.#.self_attn.k_proj", GgufChange::rotary_key},
    {"blk.#.attn_v", "model.layers.#.self_attn.v_proj"},
    {"blk.#.attn_output", "model.layers.#.self_attn.o_proj"},
    {"blk.#.ffn_norm", "model.layers.#.post_attention_layernorm"},
    {"blk.#.ffn_gate", "model.layers.#.mlp.gate_proj"},
    {"blk.#.ffn_up", "model.layers.#.mlp.up_proj"},
    {"blk.#.ffn_down", "model.layers.#.mlp.down_proj"},
};
// Also of Qwen 2, which has no norms of query and key.
constexpr Row qwen3[] = {
    {"token_embd", "model.embed_tokens"},
    {"output_norm", "model.norm"},
    {"output", "lm_head"},
    {"blk.#.attn_norm", "model.layers.#.input_layernorm"},
    {"blk.#.attn_q", "model.layers.#.self_attn.q_proj"},
    {"blk.#.attn_q_norm", "model.layers.#.self_attn.q_norm"},
    {"blk.#.attn_k", "model.layers.#.self_attn.k_proj"},
    {"blk.#.attn_k_norm", "model.layers.#.self_attn.k_norm"},
    {"blk.#.attn_v", "model.layers.#.self_attn.v_proj"},
    {"blk.#.attn_output", "model.layers.#.self_attn.o_proj"},
    {"blk.#.ffn_norm", "model.layers.#.post_attention_layernorm"},
    {"blk.#.ffn_gate", "model.layers.#.mlp.gate_proj"},
    {"blk.#.ffn_up", "model.layers.#.mlp.up_proj"},
    {"blk.#.ffn_down", "model.layers.#.mlp.down_proj"},
};
// Gemma 2 has no norms of query and key.
constexpr Row gemma3[] = {
    {"token_embd", "model.embed_tokens"},
    {"output_norm", "model.norm", GgufChange::add_one},
    {"output", "lm_head"},
    {"blk.#.attn_norm", "model.layers.#.input_layernorm", GgufChange::add_one},
    {"blk.#.attn_q", "model.layers.#.self_attn.q_proj"},
    {"blk.#.attn_q_norm", "model.layers.#.self_attn.q_norm", GgufChange::add_one},
    {"blk.#.attn_k", "model.layers.#.self_attn.k_proj"},
    {"blk.#.attn_k_norm", "model.layers.#.self_attn.k_norm", GgufChange::add_one},
    {"blk.#.attn_v", "model.layers.#.self_attn.v_proj"},
    {"blk.#.attn_output", "model.layers.#.self_attn.o_proj"},
    {"blk.#.post_attention_norm", "model.layers.#.post_attention_layernorm", GgufChange::add_one},
    {"blk.#.ffn_norm", "model.layers.#.pre_feedforward_layernorm", GgufChange::add_one},
    {"blk.#.ffn_gate", "model.layers.#.mlp.gate_proj"},
    {"blk.#.ffn_up", "model.layers.#.mlp.up_proj"},
    {"blk.#.ffn_down", "model.layers.#.mlp.down_proj"},
    {"blk.#.post_ffw_norm", "model.layers.#.post_feedforward_layernorm", GgufChange::add_one},
};
constexpr Row phi3[] = {
    {"token_embd", "model.embed_tokens"},
    {"output_norm", "model.norm"},
    {"output", "lm_head"},
    {"blk.#.attn_norm", "model.layers.#.input_layernorm"},
    {"blk.#.attn_qkv", "model.layers.#.self_attn.qkv_proj"},
    {"blk.#.attn_output", "model.layers.#.self_attn.o_proj"},
    {"blk.#.ffn_norm", "model.layers.#.post_attention_layernorm"},
    {"blk.#.ffn_up", "model.layers.#.mlp.gate_up_proj"},
    {"blk.#.ffn_down", "model.layers.#.mlp.down_proj"},
};
constexpr Row olmo2[] = {
    {"token_embd", "model.embed_tokens"},
    {"output_norm", "model.norm"},
    {"output", "lm_head"},
    {"blk.#.attn_q", "model.layers.#.self_attn.q_proj"},
    {"blk.#.attn_q_norm", "model.layers.#.self_attn.q_norm"},
    {"blk.#.attn_k", "model.layers.#.self_attn.k_proj"},
    {"blk.#.attn_k_norm", "model.layers.#.self_attn.k_norm"},
    {"blk.#.attn_v", "model.layers.#.self_attn.v_proj"},
    {"blk.#.attn_output", "model.layers.#.self_attn.o_proj"},
    {"blk.#.post_attention_norm", "model.layers.#.post_attention_layernorm"},
    {"blk.#.ffn_gate", "model.layers.#.mlp.gate_proj"},
    {"blk.#.ffn_up", "model.layers.#.mlp.up_proj"},
    {"blk.#.ffn_down", "model.layers.#.mlp.down_proj"},
    {"blk.#.post_ffw_norm", "model.layers.#.post_feedforward_layernorm"},
};
constexpr Row gptneox[] = {
    {"token_embd", "gpt_neox.embed_in"},
    {"output_norm", "gpt_neox.final_layer_norm"},
    {"output", "embed_out"},
    {"blk.#.attn_norm", "gpt_neox.layers.#.input_layernorm"},
    {"blk.#.attn_qkv", "gpt_neox.layers.#.attention.query_key_value", GgufChange::query_key_value},
    {"blk.#.attn_output", "gpt_neox.layers.#.attention.dense"},
    {"blk.#.ffn_norm", "gpt_neox.layers.#.post_attention_layernorm"},
    {"blk.#.ffn_up", "gpt_neox.layers.#.mlp.dense_h_to_4h"},
    {"blk.#.ffn_down", "gpt_neox.layers.#.mlp.dense_4h_to_h"},
};

struct Table {
  std::string_view architecture;
  std::span<const Row> rows;
};
constexpr Table tables[] = {{"llama", llama},   {"qwen2", qwen3},    {"qwen3", qwen3},
                            {"gemma2", gemma3}, {"gemma3", gemma3},  {"phi3", phi3},
                            {"olmo2", olmo2},   {"gptneox", gptneox}};

std::span<const Row> rows_of(std::string_view architecture) {
  for (const Table& t : tables)
    if (t.architecture == architecture) return t.rows;
  return {};
}

std::optional<GgufName> other_name(std::string_view architecture, std::string_view name,
                                   std::string_view Row::*from, std::string_view Row::*to) {
  const std::size_t dot = name.rfind('.');
  const std::string_view ending = dot == name.npos ? "" : name.substr(dot);
  if (ending != ".weight" && ending != ".bias") return std::nullopt;
  const std::string_view stem = name.substr(0, dot);
  for (const Row& row : rows_of(architecture)) {
    const std::string_view pattern = row.*from, other = row.*to;
    const std::size_t mark = pattern.find('#');
    std::string_view layer;
    if (mark == pattern.npos) {
      if (stem != pattern) continue;
    } else {
      const std::string_view before = pattern.substr(0, mark), after = pattern.substr(mark + 1);
      if (stem.size() <= before.size() + after.size() || !stem.starts_with(before) ||
          !stem.ends_with(after))
        continue;
      layer = stem.substr(before.size(), stem.size() - before.size() - after.size());
      if (!std::ranges::all_of(layer, [](char c) { return c >= '0' && c <= '9'; })) continue;
    }
    std::string renamed(other);
    if (mark != pattern.npos) renamed.replace(other.find('#'), 1, layer);
    renamed += ending;
    return GgufName{std::move(renamed), row.change};
  }
  return std::nullopt;
}

}  // namespace

bool has_gguf_names(std::string_view architecture) { return !rows_of(architecture).empty(); }

std::optional<GgufName> huggingface_name(std::string_view architecture, std::string_view gguf) {
  return other_name(architecture, gguf, &Row::gguf, &Row::huggingface);
}

std::optional<GgufName> gguf_name(std::string_view architecture, std::string_view huggingface) {
  return other_name(architecture, huggingface, &Row::huggingface, &Row::gguf);
}

Index gguf_row_unit(GgufChange change) {
  switch (change) {
    case GgufChange::rotary_query:
    case GgufChange::rotary_key:
      return 2;
    case GgufChange::query_key_value:
      return 3;
    default:
      return 1;
  }
}

Index gguf_row(GgufChange change, Index row, Index rows, Index heads) {
  const Index unit = gguf_row_unit(change);
  if (unit == 1) return row;
  // The row of the Hugging Face tensor is [head, part, i], with `unit` parts.
  const Index n = rows / heads / unit;
  const Index head = row / (unit * n), part = row / n % unit, i = row % n;
  if (change == GgufChange::query_key_value) return (part * heads + head) * n + i;
  return (head * n + i) * unit + part;
}

}  // namespace sten
