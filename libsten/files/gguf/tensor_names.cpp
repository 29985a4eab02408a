// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/gguf/tensor_names.h"

#include <algorithm>
#include <span>

namespace sten {
namespace {

// Names without ".weight" or ".bias"; '#' stands for the number of the layer, '*' for that of an
// expert.
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
    // Mixtral; its first files have each expert apart.
    {"blk.#.ffn_gate_inp", "model.layers.#.block_sparse_moe.gate"},
    {"blk.#.ffn_gate_exps", "model.layers.#.block_sparse_moe.experts.*.w1"},
    {"blk.#.ffn_up_exps", "model.layers.#.block_sparse_moe.experts.*.w3"},
    {"blk.#.ffn_down_exps", "model.layers.#.block_sparse_moe.experts.*.w2"},
    {"blk.#.ffn_gate.*", "model.layers.#.block_sparse_moe.experts.*.w1"},
    {"blk.#.ffn_up.*", "model.layers.#.block_sparse_moe.experts.*.w3"},
    {"blk.#.ffn_down.*", "model.layers.#.block_sparse_moe.experts.*.w2"},
};
// Also of Qwen 2, which has no norms of query and key, and of both with experts.
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
    {"blk.#.ffn_gate_inp", "model.layers.#.mlp.gate"},
    {"blk.#.ffn_gate_exps", "model.layers.#.mlp.experts.*.gate_proj"},
    {"blk.#.ffn_up_exps", "model.layers.#.mlp.experts.*.up_proj"},
    {"blk.#.ffn_down_exps", "model.layers.#.mlp.experts.*.down_proj"},
    {"blk.#.ffn_gate_inp_shexp", "model.layers.#.mlp.shared_expert_gate",
     GgufChange::row_as_vector},
    {"blk.#.ffn_gate_shexp", "model.layers.#.mlp.shared_expert.gate_proj"},
    {"blk.#.ffn_up_shexp", "model.layers.#.mlp.shared_expert.up_proj"},
    {"blk.#.ffn_down_shexp", "model.layers.#.mlp.shared_expert.down_proj"},
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
constexpr Table tables[] = {{"llama", llama},    {"qwen2", qwen3},    {"qwen3", qwen3},
                            {"qwen2moe", qwen3}, {"qwen3moe", qwen3}, {"gemma2", gemma3},
                            {"gemma3", gemma3},  {"phi3", phi3},      {"olmo2", olmo2},
                            {"gptneox", gptneox}};

std::span<const Row> rows_of(std::string_view architecture) {
  for (const Table& t : tables)
    if (t.architecture == architecture) return t.rows;
  return {};
}

// Numbers in a name, as digits; empty if the name has none.
struct Numbers {
  std::string_view layer, expert;
};

// The numbers if `name` is the pattern with digits for '#' and '*'.
std::optional<Numbers> match(std::string_view pattern, std::string_view name) {
  constexpr std::size_t most_digits = 9;
  Numbers found;
  for (const char c : pattern) {
    if (c != '#' && c != '*') {
      if (!name.starts_with(c)) return std::nullopt;
      name.remove_prefix(1);
      continue;
    }
    const std::size_t n = std::min(name.find_first_not_of("0123456789"), name.size());
    // Two names of one expert would be one matrix of the stack.
    if (n == 0 || (c == '*' && (n > most_digits || (n > 1 && name.front() == '0'))))
      return std::nullopt;
    (c == '#' ? found.layer : found.expert) = name.substr(0, n);
    name.remove_prefix(n);
  }
  return name.empty() ? std::optional(found) : std::nullopt;
}

bool has_expert(std::string_view pattern) { return pattern.find('*') != pattern.npos; }

// The pattern with the numbers, of which '*' may be missing.
std::string with_numbers(std::string_view pattern, const Numbers& numbers) {
  std::string name;
  for (const char c : pattern) {
    const std::string_view number = c == '#' ? numbers.layer : c == '*' ? numbers.expert : "";
    if (number.empty())
      name += c;
    else
      name += number;
  }
  return name;
}

std::optional<GgufName> other_name(std::string_view architecture, std::string_view name,
                                   std::string_view Row::*from, std::string_view Row::*to) {
  const std::size_t dot = name.rfind('.');
  const std::string_view ending = dot == name.npos ? "" : name.substr(dot);
  if (ending != ".weight" && ending != ".bias") return std::nullopt;
  for (const Row& row : rows_of(architecture)) {
    const auto numbers = match(row.*from, name.substr(0, dot));
    if (!numbers) continue;
    GgufName other{with_numbers(row.*to, *numbers), row.change};
    other.name += ending;
    other.is_stack = has_expert(row.huggingface) && !has_expert(row.gguf);
    for (const char digit : numbers->expert) other.expert = other.expert * 10 + (digit - '0');
    return other;
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

bool is_former_buffer(std::string_view name) {
  return name.ends_with(".attention.masked_bias") || name.ends_with(".attention.bias") ||
         name.ends_with(".rotary_emb.inv_freq");
}

std::string expert_name(std::string_view stack, Index expert) {
  return with_numbers(stack, {"", std::to_string(expert)});
}

Shape huggingface_shape(GgufChange change, Shape gguf) {
  if (change == GgufChange::row_as_vector && gguf.size() == 1) gguf.insert(gguf.begin(), 1);
  return gguf;
}

Shape gguf_shape(GgufChange change, Shape huggingface) {
  if (change == GgufChange::row_as_vector && huggingface.size() == 2 && huggingface.front() == 1)
    huggingface.erase(huggingface.begin());
  return huggingface;
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
