// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/dispatch/operators.h"

#include <algorithm>
#include <mutex>

#include "libsten/core/base/registration.h"
#include "libsten/core/dispatch/plan_key.h"

namespace sten {

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
