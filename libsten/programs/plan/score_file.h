// SPDX-License-Identifier: Apache-2.0
// Scores of weights in a file: one tensor of the weight's shape per name.
#pragma once
#include "libsten/files/checkpoint/checkpoint.h"

namespace sten {

// A mapped file that is read tensor by tensor.
class ScoreFile {
 public:
  explicit ScoreFile(const std::string& path) : file_(Checkpoint::open(path)) {}
  // Error unless the file has scores of t, with the shape of t and a dtype that can be ranked.
  void check(const TensorInfo& t) const;
  // Returns the scores of t, borrowed from the map. Error with tensor and element for a NaN.
  Dense read(const TensorInfo& t) const;
  // Releases the mapped memory of t's scores.
  void drop(const TensorInfo& t) const { file_.drop(*file_.find(t.name)); }

 private:
  Checkpoint file_;
};

}  // namespace sten
