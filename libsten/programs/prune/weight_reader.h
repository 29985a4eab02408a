// SPDX-License-Identifier: Apache-2.0
// Weights of a checkpoint and their scores, ready to be ranked.
#pragma once
#include <functional>

#include "libsten/programs/plan/prune_plan.h"
#include "libsten/programs/plan/score_file.h"

namespace sten {

class WeightReader {
 public:
  // Error unless the file `scores`, which may be empty, has scores of the tensors that need them.
  // Keeps references to `in`, `plan` and `reordering`, whose permutations may be set later.
  WeightReader(const Checkpoint& in, const PrunePlan& plan, const Reordering& reordering, Nan nan,
               const std::string& scores);

  // Returns tensor i in its final order, with NaN and infinity replaced by the policy. Unless
  // zeroed, they rank above all numbers, as their bits do.
  Dense load(std::size_t i, Device device = Device::cpu) const;
  // Calls f(scores of tensor i), or f(nullptr) if the tensor needs none.
  template <class F>
  auto with_scores(std::size_t i, F&& f) const {
    if (!plan_.tensors[i]->needs_scores) return f(static_cast<const Dense*>(nullptr));
    const Dense scores = reordering_.moved(i, scores_->read(in_.tensors()[i]));
    struct Drop {
      const ScoreFile& file;
      const TensorInfo& t;
      ~Drop() { file.drop(t); }
    } drop{*scores_, in_.tensors()[i]};
    return f(&scores);
  }
  const Checkpoint& input() const { return in_; }
  // Calls f(tensor i, scores), and releases the mapped memory of both.
  void visit(std::size_t i, const std::function<void(const Dense&, const Dense*)>& f) const;

 private:
  Dense load_unmoved(std::size_t i, Device device) const;

  const Checkpoint& in_;
  const PrunePlan& plan_;
  const Reordering& reordering_;
  Nan nan_;
  std::optional<ScoreFile> scores_;
};

}  // namespace sten
