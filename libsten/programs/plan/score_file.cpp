// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/plan/score_file.h"

#include "libsten/core/sparsify/scored.h"

namespace sten {

void ScoreFile::check(const TensorInfo& t) const {
  const CheckpointTensor* s = file_.find(t.name);
  if (!s) {
    std::vector<std::string> names;
    for (const CheckpointTensor& other : file_.tensors()) names.push_back(other.name);
    fail("{}: missing scores {}{}", file_.name(), quote(t.name), suggestion(t.name, names));
  }
  if (!is_prunable(s->dtype))
    fail("{}: scores {}: expected F64 F32 F16 BF16 F8_E4M3 or F8_E5M2, got {}", file_.name(),
         quote(t.name), name_of(s->dtype));
  if (s->shape != t.shape)
    fail("{}: scores {} have shape {}, but the tensor has {}", file_.name(), quote(t.name),
         to_string(s->shape), to_string(t.shape));
}

Dense ScoreFile::read(const TensorInfo& t) const {
  Dense s = file_.load(*file_.find(t.name)).to_dense();
  if (const auto i = first_nan(s))
    fail("{}: {}: the score of element {} is NaN", file_.name(), quote(t.name), *i);
  return s;
}

}  // namespace sten
