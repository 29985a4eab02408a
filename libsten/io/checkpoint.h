// A model in a safetensors file: ordered names of tensors, dense or in a sparse layout.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "libsten/io/mmap.h"
#include "libsten/io/safetensors.h"
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

  bool is_sparse() const { return !layout.is("dense"); }
};

struct CheckpointTensor : TensorInfo {
  std::vector<SafetensorsEntry> entries;  // one for a dense tensor, else one for each part
  std::uint64_t bytes() const;
};

class Checkpoint {
 public:
  // A file, a pipe, or "-". The whole header is checked, payloads where they are loaded: Error.
  static Checkpoint open(const std::string& path);
  static Checkpoint of(MappedFile file);

  const MappedFile& file() const { return file_; }
  const std::string& name() const { return file_.name(); }
  // Metadata other than layouts; in the file's order.
  const std::vector<std::pair<std::string, std::string>>& metadata() const { return metadata_; }
  // In the header's order.
  const std::vector<CheckpointTensor>& tensors() const { return tensors_; }
  // Numbers of tensors() in the order of their data, which reads the file once from front to back.
  const std::vector<std::size_t>& data_order() const { return data_order_; }
  const CheckpointTensor* find(std::string_view name) const;

  std::span<const std::byte> bytes(const SafetensorsEntry& e) const;
  // The tensor with all its parts checked; borrows from the map. Error names file and tensor.
  Tensor load(const CheckpointTensor& t) const;
  // Lets go of the memory behind a tensor that is done with.
  void drop(const CheckpointTensor& t) const;

 private:
  explicit Checkpoint(MappedFile file) : file_(std::move(file)) {}

  MappedFile file_;
  std::uint64_t data_offset_ = 0;
  std::vector<std::pair<std::string, std::string>> metadata_;
  std::vector<CheckpointTensor> tensors_;
  std::vector<std::size_t> data_order_, by_name_;
};

// The metadata value that describes a tensor's layout, and back. Error (input).
std::string layout_text(const TensorInfo& t);
TensorInfo parse_layout_text(const std::string& name, const std::string& text);

}  // namespace sten
