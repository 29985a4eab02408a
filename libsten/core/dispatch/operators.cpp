#include "libsten/core/dispatch/operators.h"

#include <algorithm>
#include <mutex>

#include "libsten/core/base/registration.h"
#include "libsten/core/dispatch/names.h"
#include "libsten/core/registry/route.h"

namespace sten {
namespace {

using names::dense, names::keep_all;

thread_local std::vector<std::string>* plan_log = nullptr;

void report(const Plan& plan) {
  if (plan_log) plan_log->push_back(plan.text);
  if (plan.kind != DispatchKind::exact || plan.moves) report_fallback(plan.text);
}

// Writes a signature as integers; short ones without allocation.
class KeyWriter {
 public:
  void add(std::uint32_t v) {
    if (count_ < inline_count) {
      short_[count_++] = v;
      return;
    }
    if (long_.empty()) long_.assign(short_, short_ + inline_count);
    long_.push_back(v);
    ++count_;
  }
  void add(const OutSignature& o) {
    add(o.inline_by.id());
    add(o.tmp.id());
    add(std::uint32_t{o.streaming} | std::uint32_t{o.local} << 1);
  }
  std::span<const std::uint32_t> key() const {
    return {count_ <= inline_count ? short_ : long_.data(), count_};
  }

 private:
  static constexpr std::size_t inline_count = 40;
  std::uint32_t short_[inline_count];
  std::vector<std::uint32_t> long_;
  std::size_t count_ = 0;
};

OutSignature signature_of(const OutFormat* f) {
  static const OutSignature plain;
  static const OutSignature none = OutSignature::none();
  if (!f) return none;
  if (f == &OutFormat::dense()) return plain;
  return {f->inline_by, f->tmp.is(Dense::name) ? dense : Name(f->tmp.name())};
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

void write_key(KeyWriter& key, Name op, Device device, std::size_t inputs) {
  key.add(op.id());
  key.add(static_cast<std::uint32_t>(device));
  key.add(static_cast<std::uint32_t>(inputs));
}

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

const Tensor* Call::saved(std::string_view name) const {
  if (!ctx) return nullptr;
  const auto at = std::ranges::find(*ctx, name, &SavedTensors::value_type::first);
  return at == ctx->end() ? nullptr : &at->second;
}

std::size_t Operators::KeyHash::operator()(std::span<const std::uint32_t> key) const {
  std::uint64_t h = 0xcbf29ce484222325u;
  for (const std::uint32_t v : key) h = (h ^ v) * 0x9e3779b97f4a7c15u;
  return h ^ h >> 32;
}
bool Operators::KeyEqual::operator()(std::span<const std::uint32_t> a,
                                     std::span<const std::uint32_t> b) const {
  return std::ranges::equal(a, b);
}

void Operators::declare(Name op, const Operator& what) {
  const std::unique_lock hold(lock_);
  if (!Registration::has_added("operator", op.text()) &&
      !Registration::admits("operator", op.text(), declared_.contains(op) || entries_.contains(op)))
    return;
  declared_.insert_or_assign(op, what);
}

Operator Operators::what(Name op) const {
  const std::shared_lock hold(lock_);
  const auto at = declared_.find(op);
  return at == declared_.end() ? Operator{} : at->second;
}

void Operators::add(Signature pattern, Implementation run,
                    std::function<bool(const Signature&)> when) {
  const std::unique_lock hold(lock_);
  // An implementation of an operator that is declared elsewhere is not a new name.
  if (!declared_.contains(pattern.op) && !entries_.contains(pattern.op))
    Registration::admits("operator", pattern.op.text(), false);
  std::vector<Entry>& entries = entries_[pattern.op];
  if (!when)
    std::erase_if(entries, [&](const Entry& e) { return !e.when && e.pattern == pattern; });
  const int w = sten::wildcards(pattern);
  entries.push_back({std::move(pattern), std::move(when),
                     std::make_shared<const Implementation>(std::move(run)), w});
  plans_.clear();
}

std::vector<Signature> Operators::patterns(Name op) const {
  const std::shared_lock hold(lock_);
  std::vector<Signature> all;
  const auto at = entries_.find(op);
  if (at != entries_.end())
    for (const Entry& e : at->second) all.push_back(e.pattern);
  return all;
}

std::vector<Name> Operators::all() const {
  const std::shared_lock hold(lock_);
  std::vector<Name> names;
  for (const auto& [op, entries] : entries_) names.push_back(op);
  return names;
}

void Operators::log_plans(std::vector<std::string>* to) { plan_log = to; }

std::shared_ptr<const Plan> Operators::find(std::span<const std::uint32_t> key) const {
  const std::shared_lock hold(lock_);
  const auto at = plans_.find(key);
  return at == plans_.end() ? nullptr : at->second;
}

std::shared_ptr<const Plan> Operators::plan(const Signature& wanted) const {
  KeyWriter key;
  write_key(key, wanted.op, wanted.device, wanted.in.size());
  for (const Name n : wanted.in) key.add(n.id());
  for (const OutSignature& o : wanted.out) key.add(o);
  if (auto known = find(key.key())) return known;
  const std::unique_lock hold(lock_);
  auto made = std::make_shared<const Plan>(make_plan(wanted));
  plans_.insert_or_assign(Key(key.key().begin(), key.key().end()), made);
  return made;
}

std::shared_ptr<const Plan> Operators::plan_of(Name op, const Call& call) const {
  KeyWriter key;
  write_key(key, op, device_of(op, call), call.in.size());
  for (const Tensor& t : call.in) key.add(t.layout_name().id());
  for (const OutFormat* f : call.formats) key.add(signature_of(f));
  if (auto known = find(key.key())) return known;
  return plan(signature_of(op, call));
}

Outputs Operators::run(Name op, const Call& call) const {
  const std::shared_ptr<const Plan> plan = plan_of(op, call);
  report(*plan);
  const std::size_t saved = call.ctx ? call.ctx->size() : 0;
  try {
    return carry_out(op, *plan, call);
  } catch (const Unsupported& e) {
    // Removes tensors that the implementation saved before it threw.
    if (call.ctx) call.ctx->erase(call.ctx->begin() + static_cast<Index>(saved), call.ctx->end());
    Plan other;
    {
      const std::shared_lock hold(lock_);
      const Signature wanted = signature_of(op, call);
      other =
          wanted.device == Device::cpu ? dense_plan(wanted, e.what()) : cpu_plan(wanted, e.what());
    }
    if (other.run == plan->run && !other.moves) throw;
    for (const OutHints& h : call.hints)
      if (h.sum && !*h.sum) throw;  // the sum was lost
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

Operators& operators() {
  static Operators& all = *[] {
    static Operators made(registry());
    add_builtin_operators(made);
    return &made;
  }();
  return all;
}

Outputs run(Name op, const Call& call) { return operators().run(op, call); }

Tensor apply(Name op, std::span<const Tensor> in, const Attributes& attributes,
             const OutFormat& out) {
  const OutFormat* formats[] = {&out};
  Outputs outputs = run(op, {in, formats, attributes});
  return *std::move(outputs.front());
}

Tensor apply(Name op, std::initializer_list<Tensor> in, const Attributes& attributes,
             const OutFormat& out) {
  return apply(op, std::span(in.begin(), in.size()), attributes, out);
}

bool add_operator(Signature pattern, Implementation run) {
  operators().add(std::move(pattern), std::move(run));
  return true;
}

bool declare_operator(Name op, const Operator& what) {
  operators().declare(op, what);
  return true;
}

}  // namespace sten
