#include "libsten/dispatch/registry.h"

#include <algorithm>
#include <mutex>

#include "libsten/base/fallback.h"
#include "libsten/dispatch/builtin.h"

namespace sten {
namespace {

template <class Map>
std::vector<std::string> keys_of(const Map& map) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : map) keys.push_back(key);
  return keys;
}

template <class Map>
std::vector<Registry::Example> examples_of(const Map& map) {
  std::vector<Registry::Example> all;
  for (const auto& [name, entry] : map) all.push_back({name, entry.example});
  return all;
}

}  // namespace

void Registry::add(std::string name, LayoutEntry entry) {
  const std::unique_lock hold(lock_);
  if (layouts_.contains(name)) {
    // They know the type that had the name.
    edges_.erase(name);
    for (auto& [from, to] : edges_) to.erase(name);
    std::erase_if(fused_, [&](const auto& f) { return f.first.second == name; });
  }
  layouts_.insert_or_assign(std::move(name), std::move(entry));
}

void Registry::add_sparsifier(std::string name, const Spec& example,
                              std::function<Sparsifier(const Spec&)> make) {
  const std::unique_lock hold(lock_);
  std::erase_if(fused_, [&](const auto& f) { return f.first.first == name; });
  sparsifiers_.insert_or_assign(std::move(name), SparsifierEntry{example, std::move(make)});
}

// Entries stay where they are once added: a map's nodes do not move.
const Registry::LayoutEntry& Registry::layout(std::string_view name) const {
  const std::shared_lock hold(lock_);
  const auto at = layouts_.find(name);
  if (at == layouts_.end())
    fail_usage("there is no layout {}{}", quote(name), suggestion(name, keys_of(layouts_)));
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

void Registry::add_fused(std::string sparsifier, std::string layout, Fused way) {
  const std::unique_lock hold(lock_);
  fused_.insert_or_assign({std::move(sparsifier), std::move(layout)}, std::move(way));
}

Tensor Registry::prune(const Dense& x, const Spec& sparsifier, const Spec& layout,
                       const Hints& hints, Mask* kept) const {
  check_layout(layout);
  if (x.device() != Device::cpu && !this->sparsifier(sparsifier).selects_on_device(x)) {
    Tensor t = on_cpu(sparsifier.str(), x,
                      [&](const Dense& d) { return prune(d, sparsifier, layout, hints, kept); });
    if (kept) *kept = kept->to(x.device());
    return t;
  }
  Fused way;
  {
    const std::shared_lock hold(lock_);
    const auto at = fused_.find({sparsifier.name(), layout.name()});
    if (at != fused_.end()) way = at->second;
  }
  if (way)
    if (auto t = way(x, sparsifier, layout, kept)) return *std::move(t);
  Mask mask = this->sparsifier(sparsifier).select(x, hints);
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
  layout(from);
  layout(to);
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

bool Registry::needs_numbers(std::string_view name) const {
  return !layout(name).example.args().empty();
}

bool Registry::holds_any_pattern(std::string_view name) const {
  const std::shared_lock hold(lock_);
  const auto at = layouts_.find(name);
  return at != layouts_.end() && at->second.holds_any_pattern;
}

Sparsifier Registry::sparsifier(const Spec& spec) const {
  const SparsifierEntry* entry = nullptr;
  {
    const std::shared_lock hold(lock_);
    const auto at = sparsifiers_.find(spec.name());
    if (at == sparsifiers_.end())
      fail_usage("there is no sparsifier {}{}", quote(spec.name()),
                 suggestion(spec.name(), keys_of(sparsifiers_)));
    entry = &at->second;
  }
  return entry->make(spec).with_spec(spec);
}

std::vector<Registry::Example> Registry::layouts() const {
  const std::shared_lock hold(lock_);
  return examples_of(layouts_);
}

std::vector<Registry::Example> Registry::sparsifiers() const {
  const std::shared_lock hold(lock_);
  return examples_of(sparsifiers_);
}

Registry& registry() {
  static Registry& r = *[] {
    static Registry all;
    add_builtin(all);
    return &all;
  }();
  return r;
}

}  // namespace sten
