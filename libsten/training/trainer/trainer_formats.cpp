// Formats of values and gradients in a training step.
#include "libsten/core/dispatch/out_format.h"
#include "libsten/training/trainer/step_formats.h"
#include "libsten/training/trainer/trainer.h"

namespace sten {

void Trainer::begin_formats() {
  const Recipe& r = task_->recipe();
  if (r.formats.empty() || (has_formats_ && !formats_change(r, state_.step))) return;
  graph_ = with_formats(plain_, r, state_.step);
  has_formats_ = true;
}

// A sparsifier needs the gradient of the whole batch: the gradients of parts and ranks are summed
// first, unless all have the positions of a sparse weight.
bool Trainer::is_formatted_by_tape(const OutFormat& gradient, const Tensor& w) const {
  const bool is_alike =
      gradient.is_additive() && !is_keep_all(gradient.inline_by) && !w.is<Dense>();
  return is_alike || task_->parts() == 1;
}

Tensor Trainer::formatted(const Tensor& gradient, const OutFormat& f, const Tensor& w) {
  const Mask pattern = w.stored();
  const Hints hints{.pattern = &pattern};
  return sparsify(sparsify(gradient, f.inline_by, f.tmp, hints), f.external, f.layout, hints);
}

void Trainer::format_gradients(Gradients& gradients) const {
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const auto& asked = graph_.weights()[i].format.grad;
    const Tensor& w = state_.parameters[i].value;
    if (!gradients[i] || !asked || is_formatted_by_tape(*asked, w)) continue;
    gradients[i] = formatted(*gradients[i], *asked, w);
  }
}

}  // namespace sten
