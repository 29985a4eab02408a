// SPDX-License-Identifier: Apache-2.0
// The tensors of a GGUF file as a checkpoint.
#include "libsten/core/base/log.h"
#include "libsten/core/base/text.h"
#include "libsten/files/checkpoint/checkpoint.h"
#include "libsten/files/gguf/model_tensors.h"

namespace sten {

void Checkpoint::add_gguf(MappedFile file, std::string file_name) {
  const std::string& name = file.name();
  auto parsed = std::make_shared<GgufFile>(parse_gguf(file.bytes(), name));
  if (parsed->integer("split.count").value_or(1) > 1)
    fail("{}: expected a whole model, got one of {} parts (merge them: llama-gguf-split --merge)",
         name, *parsed->integer("split.count"));
  const std::string_view architecture = parsed->architecture();
  std::size_t unknown = 0;
  std::string first;
  for (GgufModelTensor& from : gguf_model_tensors(*parsed, name)) {
    if (!from.is_renamed && unknown++ == 0) first = from.name;
    CheckpointTensor t{{from.name, from.storage.dtype(), from.shape}, shards_.size(), {}, "", {}};
    t.entries = {{t.name, t.dtype, t.shape, from.begin, from.end}};
    t.gguf = std::move(from.storage);
    tensors_.push_back(std::move(t));
  }
  if (!has_gguf_names(architecture))
    warn("{}: architecture {} has no table of Hugging Face names: the names of GGUF are used", name,
         quote(architecture));
  else if (unknown > 0)
    warn("{}: {} of {} tensors, such as {}, have no Hugging Face name: the names of GGUF are used",
         name, unknown, parsed->tensors.size(), quote(first));
  gguf_ = std::move(parsed);
  // transformers needs this metadata in the safetensors file of the output.
  shards_.push_back({std::move(file), std::move(file_name), 0, {{"format", "pt"}}});
}

}  // namespace sten
