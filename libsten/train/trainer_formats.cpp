// Formats of values and gradients, as the recipe has them for a step.
#include "libsten/dispatch/out_format.h"
#include "libsten/train/step_formats.h"
#include "libsten/train/trainer.h"

namespace sten {

void Trainer::begin_formats() {
  const Recipe& r = task_->recipe();
  if (r.formats.empty() || (has_formats_ && !formats_change(r, state_.step))) return;
  graph_ = with_formats(plain_, r, state_.step);
  has_formats_ = true;
}

// A sparsifier chooses from the gradient of the whole batch: what a tape has of a part of it, or of
// one rank's, is summed before.
bool Trainer::is_formatted_by_tape(const OutFormat& gradient) const {
  return gradient.keeps_sums() || task_->parts() == 1;
}

void Trainer::format_gradients(Gradients& gradients) const {
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const auto& asked = graph_.weights()[i].format.grad;
    if (!gradients[i] || !asked || is_formatted_by_tape(*asked)) continue;
    const Mask pattern = state_.parameters[i].value.stored();
    const Hints hints{.pattern = &pattern};
    gradients[i] = sparsify(sparsify(*gradients[i], asked->inline_by, asked->tmp, hints),
                            asked->external, asked->layout, hints);
  }
}

}  // namespace sten
