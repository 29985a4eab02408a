// SPDX-License-Identifier: Apache-2.0
// The tensors of the Hugging Face checkpoint that is in a GGUF file.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "libsten/files/gguf/decoding.h"
#include "libsten/files/gguf/gguf_file.h"

namespace sten {

// A tensor of the file, or the matrix of one expert in a stack.
struct GgufModelTensor {
  std::string name;
  bool is_renamed = false;  // to a name of Hugging Face, else it is that of the file
  Shape shape;
  std::uint64_t begin = 0, end = 0;  // range of the file
  GgufStorage storage;
};

// Whether config.json has the values of a tensor: float32 factors of the rotary embedding.
bool is_configuration(const GgufTensor& t);

// In the order of the file, without tensors of the configuration if the architecture has names of
// Hugging Face. `file_name` starts messages. Error for tensors that cannot be those of
// the architecture: rows that are not whole attention heads, a stack of another number of experts
// than the metadata "ARCHITECTURE.expert_count", a stack without the others of its layer or of other
// sizes, and an expert_count without tensors of experts.
std::vector<GgufModelTensor> gguf_model_tensors(const GgufFile& file, const std::string& file_name);

}  // namespace sten
