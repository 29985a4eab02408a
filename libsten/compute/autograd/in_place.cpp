// SPDX-License-Identifier: Apache-2.0
// In-place operators on values of a tape.
#include <algorithm>

#include "libsten/compute/autograd/tape.h"

namespace sten {

void Tape::apply_in_place(Name op, Var& x, std::span<const Var> others,
                          const Attributes& attributes, const std::function<void(Tensor&)>& write) {
  const SavedForBackward saves = operators().what(op).saves;
  if (saves == SavedForBackward::inputs)
    fail_usage("{0}_: {0}.grad needs the old value (use {0}())", op.text());
  check_unneeded(op, x);
  std::vector<Var> in{x};
  in.insert(in.end(), others.begin(), others.end());
  Step step = step_of(op, in, attributes);
  // A watcher sees the old values; the recorded step needs only their slots.
  if (!watcher_) in.clear();
  write(x.value_);
  // A sparse value keeps its positions, and so does its gradient.
  const Formats formats =
      x.value_.is<Dense>()
          ? Formats::dense()
          : Formats(OutFormat::fused(KeepAll{}, x.value_.spec()), OutFormat::same_as(x.value_));
  SlotPtr slot = new_slot(x.value_, formats);
  const bool is_recorded = !is_paused_ && !watcher_ && is_prunable(x.value_.dtype());
  x.slot_ = is_recorded || watcher_ ? slot : nullptr;
  if (watcher_) watcher_({op, in, attributes, std::span(&formats, 1), std::span(&x, 1)});
  if (!is_recorded) return;
  if (saves == SavedForBackward::outputs) step.saved_values.push_back(x.value_);
  if (saves == SavedForBackward::others)
    for (const Var& v : others) step.saved_values.push_back(v.value_);
  step.out.push_back(std::move(slot));
  steps_.push_back(std::move(step));
}

void Tape::check_unneeded(Name op, const Var& x) const {
  if (x.slot_ && x.slot_->is_leaf)
    fail_usage("{0}_: the value is a parameter of the tape (use {0}())", op.text());
  const Values* values = x.value_.values();
  if (!values || values->size() == 0) return;
  const auto is_needed = [&](const Tensor& t) {
    return t.values() && t.values()->bytes().data() == values->bytes().data();
  };
  for (const Step& s : steps_)
    if (std::ranges::any_of(s.saved_values, is_needed) ||
        std::ranges::any_of(s.saved, is_needed, &SavedTensors::value_type::second))
      fail_usage("{0}_: {1} needs the old value (use {0}())", op.text(), s.op.text());
}

void apply_in_place(Name op, Var& x, std::span<const Var> others, const Attributes& attributes,
                    const std::function<void(Tensor&)>& write) {
  if (x.wants_grad()) return Tape::of(x).apply_in_place(op, x, others, attributes, write);
  for (const Var& v : others)
    if (v.wants_grad()) return Tape::of(v).apply_in_place(op, x, others, attributes, write);
  write(x.value_);
}

}  // namespace sten
