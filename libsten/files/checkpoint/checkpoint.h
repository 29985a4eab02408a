// SPDX-License-Identifier: Apache-2.0
// Checkpoint: named tensors, dense or sparse, in one file or in shards.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "libsten/core/tensor/tensor.h"
#include "libsten/files/checkpoint/shards.h"
#include "libsten/files/gguf/decoding.h"
#include "libsten/files/gguf/gguf_file.h"
#include "libsten/files/system/mmap.h"
#include "libsten/files/tensors/safetensors.h"
#include "libsten/files/tensors/tensor_use.h"

namespace sten {

// The layout of tensor NAME is in metadata "sten:NAME"; the tensor's parts are entries
// "NAME::PART".
inline constexpr std::string_view layout_key = "sten:";
inline constexpr std::string_view part_separator = "::";
// Provenance: a JSON array of {program, version, options}.
inline constexpr const char* provenance_key = "sten.provenance";

// Description of a tensor without its values.
struct TensorInfo {
  std::string name;
  DType dtype = DType::F32;
  Shape shape;
  Spec layout{"dense"};
  // From a model's graph; `module` is the graph's name of a weight whose own name differs.
  TensorUse use = TensorUse::unknown;
  bool in_by_out = false;  // a matrix [in, out]
  std::string module = {};

  bool is_sparse() const { return !layout.is(Dense::name); }
};

struct CheckpointTensor : TensorInfo {
  std::size_t shard = 0;                   // index of the file
  Shape strides;                           // in elements; empty for row-major bytes
  std::string layout_text;                 // of a sparse tensor, as in the metadata
  std::vector<SafetensorsEntry> entries;   // one for a dense tensor, otherwise one per part
  std::optional<GgufStorage> gguf = {};    // of a tensor in a GGUF file
  std::optional<DType> stored_dtype = {};  // that of the elements in the file, if load() converts
  // Whether the entries are the bytes of the tensor in safetensors: row-major, not quantized, of its
  // dtype.
  bool is_plain() const { return strides.empty() && !stored_dtype && (!gguf || gguf->is_plain()); }
  // Bytes in safetensors, with elements of stored_dtype.
  std::uint64_t bytes() const;
  // Bytes of what load() returns.
  std::uint64_t loaded_bytes() const;
};

// A file of a checkpoint.
struct Shard {
  MappedFile file;
  std::string file_name;  // in the directory; empty for a checkpoint of one file
  std::uint64_t data_offset = 0;
  // Metadata other than layouts, in the file's order.
  std::vector<std::pair<std::string, std::string>> metadata;
  bool is_temporary = false;  // decoded typed fields of an ONNX model
};

class Checkpoint {
 public:
  // Opens a file, a pipe, "-", a Hugging Face directory, or an index of shards. Formats:
  // safetensors; files of torch.save(); an ONNX model, with external data as further shards; GGUF,
  // with the names of Hugging Face and quantized tensors as F32; .npy, one tensor named after the
  // file. Checks all headers, and compares them with the index; load() checks the payload. Error for
  // an invalid file.
  static Checkpoint open(const std::string& path);
  static Checkpoint of(MappedFile file);

  // The name in messages; printable.
  const std::string& name() const { return name_; }
  const std::vector<Shard>& shards() const { return shards_; }
  // The index of the shards; none for a single file.
  const std::optional<ShardIndex>& index() const { return index_; }
  // "took unet/ of the pipeline, not vae/"; "" for a checkpoint outside of pipelines.
  std::string part_taken() const { return index_ ? sten::part_taken(*index_) : ""; }
  // Whether it is a .npy file.
  bool is_array() const { return is_array_; }
  // Whether it is an ONNX model; see onnx/weights.h for its tensors.
  bool is_onnx() const { return is_onnx_; }
  // The header of a GGUF file, which points into its map; nullptr for other formats.
  const GgufFile* gguf() const { return gguf_.get(); }
  // Sets the dtype of matrices of F32, F16 and BF16, in all layouts, to that of `type`, and that of
  // quantized tensors of a GGUF file, which is BF16 with nullptr. load() converts; Error for a finite
  // element that is beyond the range of the dtype. Returns the number of tensors whose elements are
  // rounded. Call it before any load().
  std::size_t set_matrix_dtype(const GgufType* type);
  // Renames tensors, and removes those for which `name_of` returns no name. The files stay as they
  // are; indices in tensors() change. Error if two tensors get the same name.
  void rename(const std::function<std::optional<std::string>(const std::string& name)>& name_of);
  // Total size of all files.
  std::uint64_t file_bytes() const;
  // In the order of the shards and their headers.
  const std::vector<CheckpointTensor>& tensors() const { return tensors_; }
  // Indices of tensors() in the order of shards and their data, which reads each file once from
  // front to back.
  const std::vector<std::size_t>& data_order() const { return data_order_; }
  const CheckpointTensor* find(std::string_view name) const;

  // Bytes of one of t's entries.
  std::span<const std::byte> bytes(const CheckpointTensor& t, const SafetensorsEntry& e) const;
  // Reads a tensor and checks its parts; borrows from the map. Error with file and tensor.
  Tensor load(const CheckpointTensor& t) const;
  // Releases the mapped memory of a tensor.
  void drop(const CheckpointTensor& t) const;
  // Error if a file changed since it was opened.
  void check_unchanged() const;

 private:
  void add_shard(MappedFile file, std::string file_name);
  void add_file(MappedFile file, std::string file_name);
  void add_array(MappedFile file);
  void add_torch(MappedFile file, std::string file_name);
  // External data are in `directory`; "" without one.
  void add_onnx(MappedFile file, std::string file_name, const std::string& directory);
  void add_gguf(MappedFile file, std::string file_name);
  void add_single(MappedFile file, const std::string& directory);
  void check_index() const;
  void put_in_order();

  std::string name_;
  bool is_array_ = false, is_onnx_ = false;
  std::shared_ptr<const GgufFile> gguf_;
  std::optional<ShardIndex> index_;
  std::vector<Shard> shards_;
  std::vector<CheckpointTensor> tensors_;
  std::vector<std::size_t> data_order_, by_name_;
};

// Formats and parses the metadata of a tensor's layout. Error (input).
std::string layout_text(const TensorInfo& t);
TensorInfo parse_layout_text(const std::string& name, const std::string& text);

}  // namespace sten
