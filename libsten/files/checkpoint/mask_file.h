// SPDX-License-Identifier: Apache-2.0
// Mask files: safetensors with one BOOL tensor of the weight's shape per name.
#pragma once
#include <memory>
#include <vector>

#include "libsten/files/checkpoint/checkpoint.h"
#include "libsten/files/tensors/safetensors_writer.h"

namespace sten {

// Writes a mask file, mask by mask.
class MaskWriter {
 public:
  // The caller commits `out`. `tensors`: the masks to be added, in the order of the header.
  MaskWriter(OutputFile& out, const std::vector<TensorInfo>& tensors);
  void add(const std::string& name, const Mask& mask);
  void finish();  // after the last mask

 private:
  std::vector<std::string> order_;
  std::unique_ptr<SafetensorsWriter> writer_;
};

// Reads the mask of tensor `t`, BOOL or U8. Error for another shape or dtype, and for values other
// than 0 and 1.
Mask read_mask(const Checkpoint& masks, const TensorInfo& t);

}  // namespace sten
