// A model in files: ordered names of tensors, dense or in a sparse layout.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "libsten/io/mmap.h"
#include "libsten/io/safetensors.h"
#include "libsten/io/shards.h"
#include "libsten/io/tensor_use.h"
#include "libsten/tensor/tensor.h"

namespace sten {

// The layout of tensor NAME is metadata "sten:NAME", its parts are entries "NAME::PART".
inline constexpr std::string_view layout_key = "sten:";
inline constexpr std::string_view part_separator = "::";
// What programs did to the file: a JSON array of {program, version, options}.
inline constexpr const char* provenance_key = "sten.provenance";

// What a tensor is, apart from its bytes.
struct TensorInfo {
  std::string name;
  DType dtype = DType::F32;
  Shape shape;
  Spec layout{"dense"};
  // Of a model with a graph, where `module` is what the graph calls the place of a weight whose own
  // name does not say it.
  TensorUse use = TensorUse::unknown;
  bool in_by_out = false;  // a matrix [in, out]
  std::string module = {};

  bool is_sparse() const { return !layout.is(Dense::name); }
};

struct CheckpointTensor : TensorInfo {
  std::size_t shard = 0;                  // the number of its file
  Shape strides;                          // in elements, where the bytes are not row-major
  std::string layout_text;                // of a sparse one, as its metadata has it
  std::vector<SafetensorsEntry> entries;  // one for a dense tensor, else one for each part
  std::uint64_t bytes() const;
};

// One of the files of a checkpoint.
struct Shard {
  MappedFile file;
  std::string file_name;  // in the directory; empty for a checkpoint that is one file
  std::uint64_t data_offset = 0;
  // Metadata other than layouts; in the file's order.
  std::vector<std::pair<std::string, std::string>> metadata;
  bool is_temporary = false;  // of an ONNX model: what its typed fields hold, decoded
};

class Checkpoint {
 public:
  // Opens a file, a pipe, "-", a HuggingFace directory, or the index in one: safetensors, what
  // torch.save() wrote, an ONNX model with its external data as further shards, or .npy, which is
  // one tensor named after the file. It checks all headers and compares them with the index; load()
  // checks payloads. Error.
  static Checkpoint open(const std::string& path);
  static Checkpoint of(MappedFile file);

  // Its name in messages; printable.
  const std::string& name() const { return name_; }
  const std::vector<Shard>& shards() const { return shards_; }
  // The index that names its shards; nothing for a single file.
  const std::optional<ShardIndex>& index() const { return index_; }
  // "took unet/ of the pipeline, not vae/"; "" for a checkpoint outside of pipelines.
  std::string part_taken() const { return index_ ? sten::part_taken(*index_) : ""; }
  // Whether it is a .npy file.
  bool is_array() const { return is_array_; }
  // Whether it is an ONNX model; see onnx/weights.h for its tensors.
  bool is_onnx() const { return is_onnx_; }
  // Of all files.
  std::uint64_t file_bytes() const;
  // In the order of shards and their headers.
  const std::vector<CheckpointTensor>& tensors() const { return tensors_; }
  // Numbers of tensors() in the order of shards and their data, which reads every file once from
  // front to back.
  const std::vector<std::size_t>& data_order() const { return data_order_; }
  const CheckpointTensor* find(std::string_view name) const;

  // Bytes of one of t's entries.
  std::span<const std::byte> bytes(const CheckpointTensor& t, const SafetensorsEntry& e) const;
  // The tensor with all its parts checked; borrows from the map. Error names file and tensor.
  Tensor load(const CheckpointTensor& t) const;
  // Releases the memory behind a tensor that is no longer needed.
  void drop(const CheckpointTensor& t) const;
  // Error if a file was written to since it was opened.
  void check_unchanged() const;

 private:
  void add_shard(MappedFile file, std::string file_name);
  void add_file(MappedFile file, std::string file_name);
  void add_array(MappedFile file);
  void add_torch(MappedFile file, std::string file_name);
  // External data lie in `directory`; "" where it has none.
  void add_onnx(MappedFile file, std::string file_name, const std::string& directory);
  void add_single(MappedFile file, const std::string& directory);
  void check_index() const;
  void put_in_order();

  std::string name_;
  bool is_array_ = false, is_onnx_ = false;
  std::optional<ShardIndex> index_;
  std::vector<Shard> shards_;
  std::vector<CheckpointTensor> tensors_;
  std::vector<std::size_t> data_order_, by_name_;
};

// The metadata value that describes a tensor's layout, and back. Error (input).
std::string layout_text(const TensorInfo& t);
TensorInfo parse_layout_text(const std::string& name, const std::string& text);

}  // namespace sten
