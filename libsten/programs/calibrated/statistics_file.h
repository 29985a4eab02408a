// SPDX-License-Identifier: Apache-2.0
// Statistics of layer inputs in a safetensors file that any framework can write. A weight NAME has
// these tensors, in F32 or F64:
//   NAME.squares  [in]: sum over samples of x_j^2
//   NAME.gram     [in, in]: sum of x x^T; its diagonal replaces missing squares
//   NAME.cross    [in, in]: sum of t x^T, t being the input in the dense model; optional
#pragma once
#include "libsten/compute/calibrate/layer.h"
#include "libsten/files/checkpoint/checkpoint.h"

namespace sten {

class StatisticsFile {
 public:
  explicit StatisticsFile(const std::string& path) : file_(Checkpoint::open(path)) {}
  // Error unless the file has the statistics that `how` needs of t, with shapes that fit t.
  void check(const TensorInfo& t, const CalibratedOptions& how) const;
  // Reads the statistics of t. Error with tensor and element for a value that is not finite, a
  // negative sum of squares, or a Gram matrix that is not symmetric.
  InputStatistics read(const TensorInfo& t, const CalibratedOptions& how) const;
  // Releases the mapped memory of t's statistics.
  void drop(const TensorInfo& t) const;

 private:
  const CheckpointTensor* find(const TensorInfo& t, const char* what) const;
  Dense read(const CheckpointTensor& t) const;
  void check_gram(const CheckpointTensor& t, std::span<const float> gram, Index in) const;

  Checkpoint file_;
};

}  // namespace sten
