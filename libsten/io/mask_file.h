// Masks as safetensors files: one BOOL tensor of the original shape under each name.
#pragma once
#include <memory>
#include <vector>

#include "libsten/io/checkpoint.h"
#include "libsten/io/safetensors_writer.h"

namespace sten {

// Writes one, mask by mask.
class MaskWriter {
 public:
  // Into a file that is not committed here. `tensors`: those that will be added, in the order of
  // the header.
  MaskWriter(OutputFile& out, const std::vector<TensorInfo>& tensors);
  void add(const std::string& name, const Mask& mask);
  void finish();  // all is written

 private:
  std::vector<std::string> order_;
  std::unique_ptr<SafetensorsWriter> writer_;
};

// The mask of tensor `t` in a mask file, BOOL or U8. Error where it has another shape or dtype, or
// a value that is neither 0 nor 1.
Mask read_mask(const Checkpoint& masks, const TensorInfo& t);

}  // namespace sten
