// Writes a checkpoint tensor by tensor, each in its layout.
#pragma once
#include <unordered_map>
#include <unordered_set>

#include "libsten/io/checkpoint.h"
#include "libsten/io/safetensors_writer.h"

namespace sten {

// Error where a tensor, or an entry of it, cannot be called so (tensor_name.h), where two would need the same entry, or a reader would take one for a part of another. `file` begins
// the message.
void check_entry_names(const std::vector<TensorInfo>& contents, const std::string& file);

class CheckpointWriter {
 public:
  // `contents` says what will be added, in the order the header shall have, its names checked; a
  // layout's spec may be completed by the tensor that comes.
  CheckpointWriter(OutputFile& out, std::vector<std::pair<std::string, std::string>> metadata,
                   std::vector<TensorInfo> contents);

  // Each tensor of the contents once, in the order their data shall have.
  void add(const std::string& name, const Tensor& t);
  // Bytewise.
  void copy(const Checkpoint& from, const CheckpointTensor& t);
  // Bytes of the tensors so far.
  std::uint64_t data_bytes() const { return data_bytes_; }
  // The names of the entries, in the order of the header.
  std::vector<std::string> finish();

 private:
  std::vector<std::pair<std::string, std::string>> metadata_;
  std::vector<TensorInfo> contents_;
  std::unordered_map<std::string, std::string> layouts_;  // of sparse tensors added, as text
  std::unordered_set<std::string> written_;               // entries
  std::uint64_t data_bytes_ = 0;
  SafetensorsWriter writer_;
};

}  // namespace sten
