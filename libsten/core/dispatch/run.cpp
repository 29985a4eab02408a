// SPDX-License-Identifier: Apache-2.0
// Runs the plans of calls.
#include <algorithm>
#include <mutex>

#include "libsten/core/dispatch/format_signature.h"
#include "libsten/core/dispatch/inlined_plan.h"
#include "libsten/core/dispatch/names.h"
#include "libsten/core/dispatch/operators.h"
#include "libsten/core/dispatch/plan_key.h"

namespace sten {
namespace {

using names::dense, names::keep_all;

thread_local std::vector<std::string>* plan_log = nullptr;

void report(const Plan& plan) {
  if (plan_log) plan_log->push_back(plan.text);
  if (plan.kind != DispatchKind::exact || plan.moves) report_fallback(plan.text);
}

Device device_of(Name op, const Call& call) {
  if (call.in.empty()) return Device::cpu;
  const Device first = call.in[0].device();
  for (const Tensor& t : call.in.subspan(1))
    if (t.device() != first)
      fail_usage("{}: inputs are on {} and on {} (move all inputs to one device)", op.text(),
                 name_of(first), name_of(t.device()));
  return first;
}

Signature signature_of(Name op, const Call& call) {
  Signature s{op, {}, {}, device_of(op, call)};
  for (const Tensor& t : call.in) s.in.push_back(t.layout_name());
  for (const OutFormat* f : call.formats) s.out.push_back(signature_of(f));
  return s;
}

// A call with external sparsifiers inline.
class InlinedCall {
 public:
  InlinedCall(const Operators& all, Name op, const Call& call) : call_(call) {
    const auto moves = [](const OutFormat* f) { return f && can_inline_external(*f); };
    if (std::ranges::none_of(call.formats, moves)) return;
    InlinedPlan made = inlined_plan(all, signature_of(op, call), call.formats);
    if (made.inlined.empty()) return;
    plan_ = std::move(made.plan);
    formats_.assign(call.formats.begin(), call.formats.end());
    inlined_.reserve(formats_.size());
    for (std::size_t i = 0; i < formats_.size(); ++i)
      if (made.inlined[i]) formats_[i] = &inlined_.emplace_back(with_inline_external(*formats_[i]));
    call_.formats = formats_;
  }
  InlinedCall(const InlinedCall&) = delete;
  InlinedCall& operator=(const InlinedCall&) = delete;
  // nullptr: no sparsifier moves.
  const Plan* plan() const { return plan_.get(); }
  const Call& call() const { return call_; }

 private:
  Call call_;
  std::vector<const OutFormat*> formats_;
  std::vector<OutFormat> inlined_;
  std::shared_ptr<const Plan> plan_;
};

bool changes_nothing(const OutFormat& f) {
  return &f == &OutFormat::dense() || (f.external.name() == keep_all && f.tmp == f.layout);
}

// Applies the format to an output that the operator has written.
Tensor finish(Tensor x, const OutFormat& f, bool is_after, const OutHints& given) {
  Mask pattern;
  Hints hints{nullptr, given.scores, given.own};
  const auto by = [&](const Sparsifier& s, const Spec& layout) {
    if ((s.needs_pattern() || s.needs_own()) && given.like && !hints.pattern) {
      pattern = given.like->stored();
      hints.pattern = &pattern;
    }
    x = sparsify(x, s, layout, hints);
  };
  if (is_after) by(f.inline_by, f.tmp);
  if (!changes_nothing(f)) by(f.external, f.layout);
  return x;
}

}  // namespace

void Operators::log_plans(std::vector<std::string>* to) { plan_log = to; }

std::shared_ptr<const Plan> Operators::plan_of(Name op, const Call& call) const {
  KeyWriter key;
  write_key(key, op, device_of(op, call), call.in.size());
  for (const Tensor& t : call.in) key.add(t.layout_name().id());
  for (const OutFormat* f : call.formats) key.add(signature_of(f));
  if (auto known = find(key.key())) return known;
  return plan(signature_of(op, call));
}

Outputs Operators::run(Name op, const Call& call) const {
  const std::size_t saved = call.ctx ? call.ctx->size() : 0;
  // Removes tensors that an implementation saved before it threw.
  const auto undo = [&] {
    if (call.ctx) call.ctx->erase(call.ctx->begin() + static_cast<Index>(saved), call.ctx->end());
    for (const OutHints& h : call.hints)
      if (h.sum && !*h.sum) throw;  // the sum was lost
  };
  if (const InlinedCall moved(*this, op, call); moved.plan()) try {
      report(*moved.plan());
      return carry_out(op, *moved.plan(), moved.call());
    } catch (const Unsupported&) {
      undo();  // and runs the external sparsifiers afterwards
    }
  const std::shared_ptr<const Plan> plan = plan_of(op, call);
  report(*plan);
  try {
    return carry_out(op, *plan, call);
  } catch (const Unsupported& e) {
    undo();
    Plan other;
    {
      const std::shared_lock hold(lock_);
      const Signature wanted = signature_of(op, call);
      other =
          wanted.device == Device::cpu ? dense_plan(wanted, e.what()) : cpu_plan(wanted, e.what());
    }
    if (other.run == plan->run && !other.moves) throw;
    report(other);
    return carry_out(op, other, call);
  }
}

Outputs Operators::carry_out_on_cpu(Name op, const Plan& plan, const Call& call) const {
  std::vector<Tensor> in, like;
  for (const Tensor& t : call.in) in.push_back(t.to(Device::cpu));
  std::vector<OutHints> hints(call.hints.begin(), call.hints.end());
  like.reserve(hints.size());
  for (OutHints& h : hints) {
    if (h.like) h.like = &like.emplace_back(h.like->to(Device::cpu));
    h.sum = nullptr;  // the sum stays on its device
  }
  SavedTensors saved;
  if (call.ctx)
    for (const auto& [name, t] : *call.ctx) saved.emplace_back(name, t.to(Device::cpu));
  const std::size_t before = saved.size();
  Plan local_plan = plan;
  local_plan.moves = false;
  Outputs out = carry_out(
      op, local_plan,
      {in, call.formats, call.attributes, call.shapes, hints, call.ctx ? &saved : nullptr});
  const Device device = call.in[0].device();
  for (auto& t : out)
    if (t) t = t->to(device);
  for (std::size_t i = before; i < saved.size(); ++i)
    call.save(saved[i].first, saved[i].second.to(device));
  return out;
}

Outputs Operators::carry_out(Name op, const Plan& plan, const Call& call) const {
  if (plan.moves) return carry_out_on_cpu(op, plan, call);
  Outputs out;
  if (plan.kind == DispatchKind::exact) {
    out = (*plan.run)(call);
  } else {
    std::vector<Tensor> in;
    for (std::size_t i = 0; i < call.in.size(); ++i) {
      const Tensor& t = call.in[i];
      if (plan.in[i] == t.layout_name())
        in.push_back(t);
      else if (plan.in[i] == dense)
        in.push_back(t.to_dense());
      else
        in.push_back(convert(layouts_, t, Spec(std::string(plan.in[i].text()))));
    }
    std::vector<const OutFormat*> formats(call.formats.begin(), call.formats.end());
    for (std::size_t i = 0; i < formats.size(); ++i)
      if (plan.after[i]) formats[i] = &OutFormat::dense();
    out = (*plan.run)({in, formats, call.attributes, call.shapes, call.hints, call.ctx});
  }
  if (out.size() != call.formats.size())
    fail("{}: the implementation returned {} outputs, expected {}", op.text(), out.size(),
         call.formats.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!call.wants(i) || !out[i]) continue;
    const OutFormat& f = call.out(i);
    if (!plan.after[i] && &f != &OutFormat::dense() && out[i]->layout() != f.tmp.name())
      fail("{}: the implementation returned the layout {}, expected {}", op.text(),
           out[i]->layout(), f.tmp.name());
    if (plan.after[i] || !changes_nothing(f))
      out[i] = finish(*std::move(out[i]), f, plan.after[i],
                      call.hints.empty() ? OutHints{} : call.hints[i]);
  }
  return out;
}

}  // namespace sten
