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
};

struct GgufName {
  std::string name;  // in the other format
  GgufChange change = GgufChange::none;
};

// Whether the architecture ("general.architecture") has a table of names: llama, qwen2, qwen3,
// gemma2, gemma3, phi3, olmo2, gptneox.
bool has_gguf_names(std::string_view architecture);
// The name in a Hugging Face checkpoint of a tensor in a GGUF file, and the reverse. None for an
// unknown architecture, and for a name that is not in its table (gguf-py's tensor_mapping.py).
std::optional<GgufName> huggingface_name(std::string_view architecture, std::string_view gguf);
std::optional<GgufName> gguf_name(std::string_view architecture, std::string_view huggingface);

// The row of the GGUF tensor that is row `row` of the Hugging Face tensor. `heads`: of the query, or
// of the key for rotary_key.
Index gguf_row(GgufChange change, Index row, Index rows, Index heads);
// Rows per head must be a multiple of this.
Index gguf_row_unit(GgufChange change);

}  // namespace sten
