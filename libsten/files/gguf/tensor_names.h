// SPDX-License-Identifier: Apache-2.0
// Names and elements of a model's tensors in GGUF and in Hugging Face checkpoints.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "libsten/core/base/shape.h"

namespace sten {

// A change of elements by llama.cpp's convert_hf_to_gguf.
enum class GgufChange {
  none,
  // Rows of each attention head of the query or key: from halves [2, n/2] to pairs [n/2, 2].
  rotary_query,
  rotary_key,
  // Rows of GPT-NeoX's query_key_value: from [heads, 3, n] to [3, heads, n].
  query_key_value,
  // 1 is added to the weight of a norm (Gemma).
  add_one,
  // A matrix of one row [1, n] is a vector [n]: the gate of Qwen's shared expert.
  row_as_vector,
};

struct GgufName {
  std::string name;  // in the other format
  GgufChange change = GgufChange::none;
  // The GGUF tensor stacks the matrices of all experts, [experts, rows, columns].
  bool is_stack = false;
  Index expert = 0;  // by gguf_name(): the index in the stack
};

// Whether the architecture ("general.architecture") has a table of names: llama, qwen2, qwen3,
// qwen2moe, qwen3moe, gemma2, gemma3, phi3, olmo2, gptneox.
bool has_gguf_names(std::string_view architecture);
// The name in a Hugging Face checkpoint of a tensor in a GGUF file, and the reverse. None for an
// unknown architecture, and for a name that is not in its table (gguf-py's tensor_mapping.py). The
// Hugging Face name of a stack has '*' for the number of the expert.
std::optional<GgufName> huggingface_name(std::string_view architecture, std::string_view gguf);
std::optional<GgufName> gguf_name(std::string_view architecture, std::string_view huggingface);
// Whether a tensor of a former Hugging Face checkpoint is a buffer that models make themselves: a mask
// of attention, or the frequencies of a rotary embedding.
bool is_former_buffer(std::string_view huggingface);
// The name of one expert by that of a stack.
std::string expert_name(std::string_view stack, Index expert);

// The shape of a tensor in the other format, without the extent of a stack.
Shape huggingface_shape(GgufChange change, Shape gguf);
Shape gguf_shape(GgufChange change, Shape huggingface);

// The row of the GGUF tensor that is row `row` of the Hugging Face tensor. `heads`: of the query, or
// of the key for rotary_key.
Index gguf_row(GgufChange change, Index row, Index rows, Index heads);
// Rows per head must be a multiple of this.
Index gguf_row_unit(GgufChange change);

}  // namespace sten
