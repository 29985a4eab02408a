// SPDX-License-Identifier: Apache-2.0
// GGUF output of a changed checkpoint: one file, with metadata and tokenizer.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "libsten/files/checkpoint/checkpoint.h"
#include "libsten/files/gguf/gguf_writer.h"
#include "libsten/files/gguf/model_metadata.h"
#include "libsten/files/system/atomic_file.h"

namespace sten {

class GgufOutput {
 public:
  // `type`: of the weights, as convert_hf_to_gguf stores them: tensors of rank 1, norms and routers
  // of experts are F32, and rows that are not whole blocks F16. nullptr: the types of a GGUF input,
  // else those of the dtypes. A changed tensor of a type that quantize() cannot write becomes Q8_0,
  // with a warning. The matrices of experts become stacks, each of one type: F32 if their dtypes
  // differ. `changed`: per tensor; empty: none. The metadata are those of a GGUF input, or made of
  // the files in the input's `directory` (gguf_directory.h). Of these, former buffers and a head that
  // llama.cpp lacks are left out, and a tied embedding becomes the head that llama.cpp needs. Error
  // for an input without these, for a tensor without a name in GGUF, for such a head that is not the
  // embedding, and for missing or unequal experts. `in` outlives the output.
  GgufOutput(const Checkpoint& in, const std::string& directory, const GgufType* type,
             const std::vector<bool>& changed);

  // Writes the header. `out` outlives the output.
  void begin(OutputFile& out);
  // Writes tensor i of the input: new values, or those of the input, whose bytes are copied if their
  // type is that of the output.
  void add(std::size_t i, const Tensor& t);
  void copy(std::size_t i);
  std::uint64_t data_bytes() const;

 private:
  void name_tensors(const GgufModel& model);
  void leave_out_head(const std::vector<bool>& changed);
  void copy_embedding();
  void take_tensors();
  void add_tensors(Index experts);
  void choose_types(const GgufType* type, const std::vector<bool>& changed);
  void take_metadata(const GgufType* type);
  GgufModel make_metadata(const std::string& directory, const GgufType* type,
                          std::vector<float>& rotary_factors);
  void add_configuration(const std::string& name, std::span<const std::byte> floats);
  // The index in the input of the tensor with a name of GGUF; none if the input lacks it.
  std::optional<std::size_t> find(std::string_view name) const;
  // The first bytes in the file of a tensor of the input: none if it is left out.
  std::vector<std::uint64_t> positions(std::size_t i) const;

  const Checkpoint& in_;
  OutputFile* out_ = nullptr;
  GgufMetadata metadata_;
  // Per tensor of the input. One that is left out has no type, and any target.
  std::vector<GgufStorage> storage_;
  std::vector<std::size_t> target_;  // the tensor of the file that it is, or is in
  // The embedding of the input, and the tensor of the file that has it as the head.
  std::optional<std::pair<std::size_t, std::size_t>> embedding_copy_;
  std::vector<GgufTensor> tensors_;  // of the file; those that only GGUF has are the last ones
  std::vector<std::vector<std::byte>> configuration_;  // the values of these
};

}  // namespace sten
