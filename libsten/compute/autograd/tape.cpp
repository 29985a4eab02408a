// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/autograd/tape.h"

#include <algorithm>

#include "libsten/core/sparsify/same_pattern.h"

namespace sten {
namespace {

using tape_detail::Slot;

const Name same_pattern(SamePattern::name), add("add");

// Cached per operator and thread: a training step asks for the name at each node.
Name grad_of(Name op) {
  thread_local std::vector<Name> known;
  if (op.id() >= known.size()) known.resize(op.id() + 1);
  Name& grad = known[op.id()];
  if (grad == Name()) grad = std::string(op.text()) + ".grad";
  return grad;
}

// A tensor of ones or zeros in the dtype of a gradient.
Tensor filled(const Shape& shape, DType dtype, float v, Device device) {
  if (v == 0) return Dense{shape, Values(dtype, size_of(shape), device)};
  Dense x = Dense::zeros(dtype, shape);
  if (dtype == DType::F64)
    std::ranges::fill(x.values.mutate<double>(), v);
  else
    std::ranges::fill(x.values.mutate<float>(), v);
  return x.to(device);
}

Outputs run_one(Name op, std::span<const Tensor> in, const OutFormat& format, const OutHints& hints,
                const Attributes& attributes = {}) {
  const OutFormat* formats[] = {&format};
  return run(op, {in, formats, attributes, {}, std::span(&hints, 1)});
}

OutHints hints_of(const Slot& s) { return {.like = s.like ? &*s.like : nullptr}; }

// Gives same-pattern the positions of the value; those of a dense value are all.
void take_positions(Slot& s, const Tensor& value) {
  for (Sparsifier* by : {&s.format.inline_by, &s.format.external}) {
    if (by->name() != same_pattern) continue;
    if (value.is<Dense>())
      *by = KeepAll{};
    else
      s.like = value;
  }
}

// Adds a contribution, written in the format that walk() chose.
void receive(Slot& s, Tensor g) {
  --s.expected;
  if (!s.grad) {
    s.grad = std::move(g);
    return;
  }
  const bool is_last = s.expected == 0;
  const Tensor terms[] = {*std::move(s.grad), std::move(g)};
  // Until the last contribution, a sum must keep everything, unless the format is additive.
  const OutFormat& f = is_last || s.format.is_additive() ? s.format : OutFormat::dense();
  s.grad = *std::move(run_one(add, terms, f, hints_of(s)).front());
}

// Passes a complete gradient of a parameter to the receiver.
void pass_on(Slot& s, const Tape::Receiver* to) {
  if (to && s.is_leaf && s.expected == 0) (*to)(s.number, *std::exchange(s.grad, std::nullopt));
}

}  // namespace

const std::optional<Tensor>& Var::grad() const {
  static const std::optional<Tensor> none;
  return slot_ ? slot_->grad : none;
}

const Var& Var::retain_grad() const {
  if (!slot_) fail_usage("retain_grad: a constant has no gradient");
  slot_->is_kept = true;
  return *this;
}

Tape& Tape::of(const Var& v) {
  if (!v.slot_ || !v.slot_->tape) fail_usage("the tape of the value no longer exists");
  return *v.slot_->tape;
}

Tape::~Tape() {
  // Values may outlive their tape.
  for (const Step& step : steps_)
    for (const auto* slots : {&step.in, &step.out})
      for (const SlotPtr& s : *slots)
        if (s) s->tape = nullptr;
  for (const auto& leaf : leaves_)
    if (const auto s = leaf.lock()) s->tape = nullptr;
}

Var Tape::parameter(Tensor value) {
  OutFormat same = OutFormat::same_as(value);
  return parameter(std::move(value), std::move(same));
}

Var Tape::parameter(Tensor value, OutFormat grad) {
  auto slot = std::make_shared<Slot>();
  slot->tape = this;
  slot->is_leaf = slot->is_kept = true;
  slot->format = std::move(grad);
  slot->shape = value.shape();
  if (!value.is<Dense>()) slot->like = value;
  take_positions(*slot, value);
  slot->number = leaves_.size();
  leaves_.push_back(slot);
  return {std::move(value), std::move(slot)};
}

Var Tape::apply(Name op, std::span<const Var> in, const Attributes& attributes,
                const Formats& formats) {
  return std::move(apply_all(op, in, attributes, std::span(&formats, 1)).front());
}

std::vector<Var> Tape::apply_all(Name op, std::span<const Var> in, const Attributes& attributes,
                                 std::span<const Formats> formats) {
  std::vector<Tensor> values;
  values.reserve(in.size());
  for (const Var& v : in) values.push_back(v.value_);
  std::vector<const OutFormat*> wanted;
  std::vector<OutFormat> waiting;
  waiting.reserve(formats.size());
  for (const Formats& f : formats) {
    wanted.push_back(&f.out);
    if (&f == &Formats::dense()) wanted.back() = &OutFormat::dense();
    if (!f.out.external.needs_scores()) continue;
    waiting.push_back({f.out.inline_by, f.out.tmp, KeepAll{}, f.out.tmp});
    wanted.back() = &waiting.back();
  }
  const bool is_of_tape = std::ranges::any_of(in, [](const Var& v) { return v.wants_grad(); });
  const bool may_record = !is_paused_ && !watcher_ && is_of_tape;
  SavedTensors saved;
  Outputs made = run(op, {values, wanted, attributes, {}, {}, may_record ? &saved : nullptr});
  // Integers, such as indices or a shape, have no gradient.
  const auto is_real = [](const auto& t) { return t && is_prunable(t->dtype()); };
  const bool is_recorded = may_record && std::ranges::any_of(made, is_real);
  const bool is_watched = watcher_ && is_of_tape;
  std::vector<Var> out;
  if (!is_recorded && !is_watched) {
    for (auto& t : made) out.push_back(Var(*std::move(t)));
    return out;
  }
  Step step = step_of(op, in, attributes);
  const SavedForBackward saves = operators().what(op).saves;
  for (std::size_t i = 0; i < made.size(); ++i) {
    SlotPtr slot = new_slot(*made[i], formats[i]);
    if (saves == SavedForBackward::outputs) step.saved_values.push_back(*made[i]);
    step.out.push_back(slot);
    out.push_back(Var(*std::move(made[i]), std::move(slot)));
  }
  if (is_watched) watcher_({op, in, attributes, formats, out});
  if (!is_recorded) return out;
  if (saves == SavedForBackward::others) values.erase(values.begin());
  if (saves == SavedForBackward::inputs || saves == SavedForBackward::others)
    step.saved_values = std::move(values);
  step.saved = std::move(saved);
  steps_.push_back(std::move(step));
  return out;
}

Tape::Step Tape::step_of(Name op, std::span<const Var> in, const Attributes& attributes) const {
  Step step{grad_of(op), attributes, {}, {}, {}, {}};
  for (const Var& v : in) {
    if (v.slot_ && v.slot_->tape != this)
      fail_usage("{}: the inputs are on different tapes or on a destroyed tape", op.text());
    step.in.push_back(v.slot_);
    step.shapes.push_back(v.slot_ ? v.slot_->shape : v.value_.shape());
  }
  return step;
}

Tape::SlotPtr Tape::new_slot(const Tensor& value, const Formats& formats) {
  auto slot = std::make_shared<Slot>();
  slot->tape = this;
  if (&formats != &Formats::dense()) slot->format = formats.grad;
  slot->shape = value.shape();
  take_positions(*slot, value);
  return slot;
}

void Tape::backward(const Var& y, std::optional<Tensor> seed, bool retain_graph) {
  const Seed one{&y, seed_of(y, std::move(seed))};
  walk_back({&one, 1}, retain_graph, nullptr);
}

void Tape::backward(const Var& y, std::optional<Tensor> seed, const Receiver& to) {
  const Seed one{&y, seed_of(y, std::move(seed))};
  walk_back({&one, 1}, false, &to);
}

void Tape::backward(std::span<const Seed> seeds, const Receiver& to) {
  for (const auto& [y, seed] : seeds) (void)seed_of(*y, seed);
  walk_back(seeds, false, &to);
}

// The gradient of y, by default 1. Error (usage) unless it fits.
Tensor Tape::seed_of(const Var& y, std::optional<Tensor> seed) const {
  if (!y.slot_ || y.slot_->tape != this)
    fail_usage("backward: the value does not depend on a parameter of this tape");
  const Shape& shape = y.slot_->shape;
  if (!seed) {
    if (size_of(shape) != 1)
      fail_usage("backward: a value of shape {} needs a gradient argument", to_string(shape));
    seed = filled(shape, y.value_.dtype(), 1, y.value_.device());
  }
  if (seed->shape() != shape)
    fail_usage("backward: a gradient of shape {} does not fit a value of shape {}",
               to_string(seed->shape()), to_string(shape));
  return *std::move(seed);
}

void Tape::walk_back(std::span<const Seed> seeds, bool retain_graph, const Receiver* to) {
  // Finds the steps that the values depend on, and the number of contributions of each value. Gradients of
  // earlier walks are set aside, so that formats apply to this walk only.
  std::vector<char> is_reached(steps_.size());
  std::vector<std::pair<SlotPtr, std::optional<Tensor>>> before;
  const auto expect = [&](const SlotPtr& s) {
    if (s->expected++ == 0 && s->is_leaf)
      before.emplace_back(s, std::exchange(s->grad, std::nullopt));
  };
  for (const Step& step : steps_)
    for (const auto* slots : {&step.in, &step.out})
      for (const SlotPtr& s : *slots)
        if (s) {
          s->expected = 0;
          if (!s->is_leaf) s->grad.reset();
        }
  for (const auto& [y, seed] : seeds) y->slot_->expected = 0;
  for (const auto& [y, seed] : seeds) expect(y->slot_);
  for (std::size_t i = steps_.size(); i-- > 0;) {
    const Step& step = steps_[i];
    is_reached[i] =
        std::ranges::any_of(step.out, [](const SlotPtr& s) { return s && s->expected > 0; });
    if (!is_reached[i]) continue;
    for (const SlotPtr& s : step.in)
      if (s) expect(s);
  }
  try {
    for (const auto& [y, seed] : seeds) {
      receive(*y->slot_, seed);
      pass_on(*y->slot_, to);
    }
    for (std::size_t i = steps_.size(); i-- > 0;) {
      if (is_reached[i]) walk(steps_[i], to);
      // Releases the tensors that the step saved.
      if (!retain_graph) steps_.pop_back();
    }
    for (auto& [slot, g] : before) {
      if (!g) continue;
      if (to) {
        slot->grad = std::move(g);
        continue;
      }
      const Tensor terms[] = {*g, *std::move(slot->grad)};
      const OutFormat sum{
          slot->format.is_additive() ? slot->format.inline_by : Sparsifier(KeepAll{}),
          slot->format.layout, KeepAll{}, slot->format.layout};
      slot->grad = *std::move(run_one(add, terms, sum, hints_of(*slot)).front());
    }
  } catch (...) {
    for (auto& [slot, g] : before) slot->grad = std::move(g);
    throw;
  }
}

void Tape::walk(Step& step, const Receiver* to) {
  std::vector<Tensor> in;
  in.reserve(step.out.size() + step.saved_values.size());
  DType dtype = DType::F32;
  Device device = Device::cpu;
  for (const SlotPtr& s : step.out)
    if (s->grad) {
      dtype = s->grad->dtype();
      device = s->grad->device();
    }
  for (const SlotPtr& s : step.out) {
    in.push_back(s->grad ? *s->grad : filled(s->shape, dtype, 0, device));
    if (!s->is_kept) s->grad.reset();
  }
  in.insert(in.end(), step.saved_values.begin(), step.saved_values.end());
  std::vector<const OutFormat*> formats;
  std::vector<OutHints> hints;
  for (const SlotPtr& s : step.in) {
    hints.push_back(s ? hints_of(*s) : OutHints{});
    // Single contributions, and those to additive formats, are written in the final format.
    const bool as_asked = s && ((s->expected == 1 && !s->grad) || s->format.is_additive());
    formats.push_back(!s ? nullptr : as_asked ? &s->format : &OutFormat::dense());
  }
  // A value that is used twice in this step gets two contributions.
  for (std::size_t i = 0; i < step.in.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (step.in[i] && step.in[i] == step.in[j] && !step.in[i]->format.is_additive())
        formats[i] = formats[j] = &OutFormat::dense();
  // The step may add to a dense gradient that exists already.
  for (std::size_t i = 0; i < step.in.size(); ++i)
    if (const SlotPtr& s = step.in[i]; s && s->grad && s->grad->is<Dense>() && s->format.is_dense())
      hints[i].sum = &s->grad;
  Outputs grads = run(step.op, {in, formats, step.attributes, step.shapes, hints, &step.saved});
  for (std::size_t i = 0; i < step.in.size(); ++i) {
    if (!step.in[i]) continue;
    if (!grads[i]) fail_usage("{}: input {} has no gradient", step.op.text(), i);
    receive(*step.in[i], *std::move(grads[i]));
    pass_on(*step.in[i], to);
  }
}

Var apply(Name op, std::span<const Var> in, const Attributes& attributes, const Formats& formats) {
  for (const Var& v : in)
    if (v.wants_grad()) return Tape::of(v).apply(op, in, attributes, formats);
  std::vector<Tensor> values;
  values.reserve(in.size());
  for (const Var& v : in) values.push_back(v.value());
  return apply(op, std::span<const Tensor>(values), attributes,
               &formats == &Formats::dense() ? OutFormat::dense() : formats.out);
}

Var apply(Name op, std::initializer_list<Var> in, const Attributes& attributes,
          const Formats& formats) {
  return apply(op, std::span(in.begin(), in.size()), attributes, formats);
}

}  // namespace sten
