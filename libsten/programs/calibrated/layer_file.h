// SPDX-License-Identifier: Apache-2.0
// Pruned layers in a file, between calibration and the writing of the output.
#pragma once
#include <map>
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

// By the name of the tensor.
using LayerRecords = std::map<std::string, LayerRecord>;

class LayerFile {
 public:
  // A nameless file in the temporary directory.
  LayerFile();
  // An open file, whose first `size` bytes are the layers of `records`.
  LayerFile(Fd file, std::string name, std::uint64_t size, LayerRecords records);

  // Appends the layer of a tensor, which replaces an earlier one; with_values: with its kept
  // values. Error if the file cannot be written.
  void add(const std::string& tensor, const CalibratedLayer& layer, bool with_values);
  // Reads the layer of t, which was added. Without values, its weights are empty. Error if the file
  // cannot be read.
  CalibratedLayer read(const TensorInfo& t) const;
  const LayerRecords& records() const { return records_; }
  std::uint64_t size() const { return size_; }

 private:
  void append(std::span<const std::byte> bytes);
  void read_at(std::uint64_t offset, std::span<std::byte> bytes) const;

  Fd file_;
  std::string name_;  // printable
  std::uint64_t size_ = 0;
  LayerRecords records_;
};

}  // namespace sten
