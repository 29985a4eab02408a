// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/registry/registry.h"

#include <algorithm>
#include <mutex>

#include "libsten/core/base/fallback.h"
#include "libsten/core/base/hints.h"
#include "libsten/core/base/registration.h"
#include "libsten/core/tensor/occupancy.h"

namespace sten {
namespace {

template <class Map>
std::vector<std::string> keys_of(const Map& map) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : map) keys.push_back(key);
  return keys;
}

// A dtype whose elements have this many bytes.
DType any_dtype(Index width) {
  return width == 1 ? DType::U8 : width == 2 ? DType::U16 : width == 4 ? DType::U32 : DType::U64;
}

}  // namespace

void Registry::add(std::string name, LayoutEntry entry) {
  const std::unique_lock hold(lock_);
  if (!Registration::admits("layout", name, layouts_.contains(name))) return;
  entry.order = layouts_.size();
  if (const auto before = layouts_.find(name); before != layouts_.end()) {
    entry.order = before->second.order;
    // The edges have the previous type of this name.
    edges_.erase(name);
    for (auto& [from, to] : edges_) to.erase(name);
    for (auto& [sparsifier, all] : implementations_)
      std::erase_if(all, [&](const auto& i) { return i->in == name || i->out == name; });
  }
  layouts_.insert_or_assign(std::move(name), std::move(entry));
}

void Registry::add_sparsifier(std::string name, const Spec& example,
                              std::function<Sparsifier(const Spec&)> make,
                              std::vector<std::string> own_keys, SpecDoc doc) {
  const std::unique_lock hold(lock_);
  if (!Registration::admits("sparsifier", name, sparsifiers_.contains(name))) return;
  implementations_.erase(name);
  sparsifiers_.insert_or_assign(
      std::move(name), SparsifierEntry{example, std::move(make), std::move(own_keys), doc});
}

// References stay valid: nodes of a map do not move.
const Registry::LayoutEntry& Registry::layout(std::string_view name) const {
  const std::shared_lock hold(lock_);
  const auto at = layouts_.find(name);
  if (at == layouts_.end())
    fail_usage("{}", unknown_name("layout", name, keys_of(layouts_), "nmg:n=2,m=4,g=4"));
  return at->second;
}

void Registry::check_layout(const Spec& spec) const {
  const LayoutEntry& entry = layout(spec.name());
  spec.check_keys(entry.keys);
  entry.check(spec);
}

Spec Registry::canonical(const Spec& spec) const {
  check_layout(spec);
  Spec ordered(spec.name());
  for (const std::string& key : layout(spec.name()).keys)
    if (spec.has(key)) ordered.set(key, std::string(spec.word(key, "")));
  return ordered;
}

Tensor Registry::pack(const Dense& x, const Mask& keep, const Spec& spec) const {
  check_layout(spec);
  const LayoutEntry& entry = layout(spec.name());
  if (x.device() == Device::cpu || entry.packs_on_device(x.extents, spec))
    return entry.pack(x, keep, spec);
  return on_cpu("packing " + spec.str(), x,
                [&](const Dense& d) { return entry.pack(d, keep.to(Device::cpu), spec); });
}

void Registry::add_implementation(SparsifierImplementation made) {
  if (!register_by([&] { layout(made.in), layout(made.out); })) return;
  const std::unique_lock hold(lock_);
  Implementations& all = implementations_[made.sparsifier];
  std::erase_if(all, [&](const auto& i) { return i->in == made.in && i->out == made.out; });
  all.push_back(std::make_shared<const SparsifierImplementation>(std::move(made)));
}

Registry::Implementations Registry::implementations(const Sparsifier& s) const {
  Implementations found;
  const std::shared_lock hold(lock_);
  const auto add = [&](std::string_view name) {
    if (const auto at = implementations_.find(name); at != implementations_.end())
      found.insert(found.end(), at->second.begin(), at->second.end());
  };
  add(s.name().text());
  if (s.selects_stored()) add(SparsifierImplementation::any_stored);
  return found;
}

Tensor Registry::prune(const Dense& x, const Sparsifier& s, const Spec& layout, const Hints& hints,
                       Mask* kept) const {
  check_layout(layout);
  if (x.device() != Device::cpu && !s.selects_on_device(x)) {
    Tensor t = on_cpu(s.spec().str(), x, [&](const Dense& d) {
      return prune(d, s, layout, HintsHere(hints).hints(), kept);
    });
    if (kept) *kept = kept->to(x.device());
    return t;
  }
  static const Spec dense(Dense::name);
  for (const auto& i : implementations(s)) {
    if (i->in != Dense::name || i->out != layout.name() || !i->serves(s, dense, layout)) continue;
    try {
      if (kept) *kept = {};
      Tensor t = i->run(s, x, {layout, hints, kept});
      if (kept && kept->bits.size() == 0) *kept = t.stored();
      return t;
    } catch (const Unsupported&) {
      break;
    }
  }
  Mask mask = s.select(x, hints);
  Tensor t = pack(x, mask, layout);
  if (kept) *kept = std::move(mask);
  return t;
}

Tensor Registry::load(const Stored& stored) const {
  check_layout(stored.layout);
  checked_size(stored.shape);
  return layout(stored.layout.name()).load(stored);
}

const std::vector<std::string>& Registry::part_names(std::string_view name) const {
  return layout(name).part_names;
}

bool Registry::is_optional_part(std::string_view name, std::string_view part) const {
  const auto& optional = layout(name).optional_parts;
  return std::find(optional.begin(), optional.end(), part) != optional.end();
}

void Registry::add(std::string from, std::string to, Edge edge) {
  if (!register_by([&] { layout(from), layout(to); })) return;
  const std::unique_lock hold(lock_);
  edges_[std::move(from)].insert_or_assign(std::move(to), std::move(edge));
}

std::map<std::string, Registry::Edge> Registry::edges(std::string_view from) const {
  const std::shared_lock hold(lock_);
  const auto at = edges_.find(from);
  return at == edges_.end() ? std::map<std::string, Edge>() : at->second;
}

bool Registry::has_key(std::string_view name, std::string_view key) const {
  const auto& all = layout(name).keys;
  return std::find(all.begin(), all.end(), key) != all.end();
}

bool Registry::needs_parameters(std::string_view name) const {
  return !layout(name).example.args().empty();
}

bool Registry::holds_any_pattern(std::string_view name) const {
  const std::shared_lock hold(lock_);
  const auto at = layouts_.find(name);
  return at != layouts_.end() && at->second.holds_any_pattern;
}

std::string Registry::own_sparsifier(std::string_view name) const {
  const std::shared_lock hold(lock_);
  const auto at = layouts_.find(name);
  return at == layouts_.end() ? "" : at->second.own_sparsifier;
}

bool Registry::is_structure(std::string_view name) const {
  return !own_sparsifier(name).empty() && !holds_any_pattern(name);
}

bool Registry::includes(const Spec& spec, const Spec& other) const {
  return layout(spec.name()).includes(canonical(spec), canonical(other));
}

std::optional<Index> Registry::bytes(const Spec& spec, const Occupancy& of) const {
  check_layout(spec);
  const LayoutEntry& entry = layout(spec.name());
  const Positions& stored = of.positions();
  try {
    if (entry.bytes && !spec.has("dims")) return entry.bytes(spec, of);
    if (stored.is_listed) return std::nullopt;
    const Dense zeros = Dense::zeros(any_dtype(of.width()), stored.extents);
    return static_cast<Index>(entry.pack(zeros, stored.mask, spec).bytes());
  } catch (const Error&) {
    return std::nullopt;
  }
}

Sparsifier Registry::sparsifier(const Spec& spec) const {
  const SparsifierEntry* entry = nullptr;
  {
    const std::shared_lock hold(lock_);
    const auto at = sparsifiers_.find(spec.name());
    if (at == sparsifiers_.end())
      fail_usage("{}", unknown_name("sparsifier", spec.name(), keys_of(sparsifiers_),
                                    "magnitude:sparsity=0.9"));
    entry = &at->second;
  }
  return entry->make(spec).with_spec(spec);
}

std::vector<Registry::Example> Registry::layouts() const {
  const std::shared_lock hold(lock_);
  std::vector<Example> all(layouts_.size());
  for (const auto& [name, entry] : layouts_) all[entry.order] = {name, entry.example};
  return all;
}

std::vector<Registry::Example> Registry::sparsifiers() const {
  const std::shared_lock hold(lock_);
  std::vector<Example> all;
  for (const auto& [name, entry] : sparsifiers_) all.push_back({name, entry.example});
  return all;
}

SpecDoc Registry::sparsifier_doc(std::string_view name) const {
  const std::shared_lock hold(lock_);
  const auto at = sparsifiers_.find(name);
  return at == sparsifiers_.end() ? SpecDoc() : at->second.doc;
}

std::vector<std::string> Registry::own_keys(std::string_view name) const {
  const std::shared_lock hold(lock_);
  const auto at = sparsifiers_.find(name);
  return at == sparsifiers_.end() ? std::vector<std::string>() : at->second.own_keys;
}

}  // namespace sten
