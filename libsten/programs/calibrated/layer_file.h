// Pruned layers in a file, between calibration and the writing of the output.
#pragma once
#include <string>

#include "libsten/compute/calibrate/layer.h"
#include "libsten/files/checkpoint/checkpoint.h"
#include "libsten/files/system/fd.h"

namespace sten {

// Where a layer is in the file: its mask, and its kept values unless they are those of the input.
struct LayerRecord {
  std::uint64_t offset = 0;
  bool has_values = false;
  double error_before = 0, error = 0;  // as in CalibratedLayer
};

class LayerFile {
 public:
  // A nameless file in the temporary directory.
  LayerFile();
  // An open file, whose first `size` bytes are layers.
  LayerFile(Fd file, std::string name, std::uint64_t size);

  // Appends a layer; with_values: with its kept values. Error if the file cannot be written.
  LayerRecord add(const CalibratedLayer& layer, bool with_values);
  // Reads the layer of t. Without values, its weights are empty.
  CalibratedLayer read(const LayerRecord& record, const TensorInfo& t) const;
  std::uint64_t size() const { return size_; }

 private:
  void append(std::span<const std::byte> bytes);
  void read_at(std::uint64_t offset, std::span<std::byte> bytes) const;

  Fd file_;
  std::string name_;  // printable
  std::uint64_t size_ = 0;
};

}  // namespace sten
