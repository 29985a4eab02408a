// Scores of weights, in a file beside the checkpoint: one tensor of the same shape under each name.
#pragma once
#include "libsten/io/checkpoint.h"

namespace sten {

// Mapped, and read tensor by tensor as the checkpoint is.
class ScoreFile {
 public:
  explicit ScoreFile(const std::string& path) : file_(Checkpoint::open(path)) {}
  // Error unless the file has scores of t: its shape, and a dtype that can be ranked.
  void check(const TensorInfo& t) const;
  // Those, borrowed from the map. Error that names tensor and element for a NaN.
  Dense read(const TensorInfo& t) const;
  // Lets go of the memory behind scores that are done with.
  void drop(const TensorInfo& t) const { file_.drop(*file_.find(t.name)); }

 private:
  Checkpoint file_;
};

}  // namespace sten
