// What went into layers, in a safetensors file that any framework can write: for a weight NAME
//   NAME.squares  [in]: sum over samples of x_j^2
//   NAME.gram     [in, in]: sum of x x^T; the squares are its diagonal, and may be left out then
//   NAME.cross    [in, in]: sum of t x^T, where t is the input in the dense model; may be left out
// as F32 or F64.
#pragma once
#include "libsten/calibrate/layer.h"
#include "libsten/io/checkpoint.h"

namespace sten {

class StatisticsFile {
 public:
  explicit StatisticsFile(const std::string& path) : file_(Checkpoint::open(path)) {}
  // Error unless the file has what `how` needs of t, in shapes that fit it.
  void check(const TensorInfo& t, const CalibratedOptions& how) const;
  // Those. Error that names the tensor and the element for a number that is not finite, and for a sum
  // of squares below 0; and where a Gram matrix is not symmetric.
  InputStatistics read(const TensorInfo& t, const CalibratedOptions& how) const;
  // Lets go of the memory behind statistics that are done with.
  void drop(const TensorInfo& t) const;

 private:
  const CheckpointTensor* find(const TensorInfo& t, const char* what) const;
  Dense read(const CheckpointTensor& t) const;
  void check_gram(const CheckpointTensor& t, std::span<const float> gram, Index in) const;

  Checkpoint file_;
};

}  // namespace sten
