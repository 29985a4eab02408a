// SPDX-License-Identifier: Apache-2.0
// GGUF output of a changed checkpoint: one file, with metadata and tokenizer.
#pragma once
#include <string>
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
  // the files in the input's `directory` (gguf_directory.h). Error for an input without these, for a
  // tensor without a name in GGUF, and for missing or unequal experts. `in` outlives the output.
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
  void take_tensors();
  void add_tensors(Index experts);
  void choose_types(const GgufType* type, const std::vector<bool>& changed);
  void take_metadata(const GgufType* type);
  Index make_metadata(const std::string& directory, const GgufType* type);
  // The first byte in the file of a tensor of the input.
  std::uint64_t position(std::size_t i) const;

  const Checkpoint& in_;
  OutputFile* out_ = nullptr;
  GgufMetadata metadata_;
  std::vector<GgufStorage> storage_;  // per tensor of the input
  std::vector<std::size_t> target_;   // per tensor of the input: the tensor that it is, or is in
  std::vector<GgufTensor> tensors_;   // of the file; those that only GGUF has are the last ones
  std::vector<float> rotary_factors_;
};

}  // namespace sten
