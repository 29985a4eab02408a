// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/prune/weight_reader.h"

#include "libsten/files/system/lack_of_memory.h"
#include "libsten/programs/measure/measure.h"

namespace sten {

WeightReader::WeightReader(const Checkpoint& in, const PrunePlan& plan,
                           const Reordering& reordering, Nan nan, const std::string& scores)
    : in_(in), plan_(plan), reordering_(reordering), nan_(nan) {
  if (!scores.empty()) scores_.emplace(scores);
  for (const std::size_t i : plan.order)
    if (plan.tensors[i]->needs_scores) scores_->check(in.tensors()[i]);
}

Dense WeightReader::load(std::size_t i, Device device) const {
  if (device != Device::cpu && reordering_.moves(i)) return load(i).to(device);
  const Dense x = load_unmoved(i, device);
  Dense moved = reordering_.moved(i, x);
  const bool is_copy = moved.values.bytes().data() != x.values.bytes().data();
  if (is_copy) in_.drop(in_.tensors()[i]);
  return moved;
}

Dense WeightReader::load_unmoved(std::size_t i, Device device) const {
  const CheckpointTensor& t = in_.tensors()[i];
  Dense x = in_.load(t).to_dense().to(device);
  if (const auto bad = first_not_finite(x)) {
    if (nan_ == Nan::error)
      fail("{}: {}: element {} is not finite and cannot be ranked (see --nan)", in_.name(),
           quote(t.name), *bad);
    if (nan_ == Nan::zero) return Dense::pack(x, finite_mask(x));
  }
  return x;
}

void WeightReader::visit(std::size_t i,
                         const std::function<void(const Dense&, const Dense*)>& f) const {
  const CheckpointTensor& t = in_.tensors()[i];
  or_lack_of_memory(in_.name(), t.name, [&] {
    const Dense x = load(i);
    with_scores(i, [&](const Dense* scores) { f(x, scores); });
  });
  in_.drop(t);
}

}  // namespace sten
