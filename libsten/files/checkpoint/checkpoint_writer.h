// SPDX-License-Identifier: Apache-2.0
// Writer of a checkpoint, tensor by tensor, each in its layout.
#pragma once
#include <unordered_map>
#include <unordered_set>

#include "libsten/files/checkpoint/checkpoint.h"
#include "libsten/files/tensors/safetensors_writer.h"

namespace sten {

// Error for an invalid name of a tensor or entry (tensor_name.h), for two tensors that need the
// same entry, and for an entry that reads as a part of another tensor. Messages start with `file`.
void check_entry_names(const std::vector<TensorInfo>& contents, const std::string& file);

class CheckpointWriter {
 public:
  // `contents`: the tensors to be added, with checked names, in the order of the header. A layout's
  // spec may lack parameters, which the added tensor has.
  CheckpointWriter(OutputFile& out, std::vector<std::pair<std::string, std::string>> metadata,
                   std::vector<TensorInfo> contents);

  // Adds a tensor of the contents, each once, in the order of the data.
  void add(const std::string& name, const Tensor& t);
  // Copies a tensor byte by byte.
  void copy(const Checkpoint& from, const CheckpointTensor& t);
  // Bytes of the tensors added so far.
  std::uint64_t data_bytes() const { return data_bytes_; }
  // Writes the header. Returns the names of entries in its order.
  std::vector<std::string> finish();

 private:
  std::vector<std::pair<std::string, std::string>> metadata_;
  std::vector<TensorInfo> contents_;
  std::unordered_map<std::string, std::string> layouts_;  // texts of sparse tensors added
  std::unordered_set<std::string> written_;               // names of written entries
  std::uint64_t data_bytes_ = 0;
  SafetensorsWriter writer_;
};

}  // namespace sten
