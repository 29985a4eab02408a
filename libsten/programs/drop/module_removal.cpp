// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/drop/module_removal.h"

#include <algorithm>
#include <numeric>

#include "libsten/programs/drop/indexed_name.h"

namespace sten {
namespace {

// The new index of an element of `kept`; none if it is removed.
std::optional<Index> new_index(const std::vector<Index>& kept, Index old) {
  const auto at = std::ranges::lower_bound(kept, old);
  if (at == kept.end() || *at != old) return std::nullopt;
  return at - kept.begin();
}

}  // namespace

std::vector<Index> largest(const std::vector<double>& scores, Index removed) {
  std::vector<Index> order(scores.size());
  std::iota(order.begin(), order.end(), Index{0});
  std::ranges::stable_sort(order, [&](Index a, Index b) { return scores[a] > scores[b]; });
  order.resize(scores.size() - removed);
  std::ranges::sort(order);
  return order;
}

Dense rows_of(const Dense& x, const std::vector<Index>& rows) {
  Shape shape = x.extents;
  const Index width = shape[0] == 0 ? 0 : x.size() / shape[0] * x.values.width();
  shape[0] = std::ssize(rows);
  Dense out{shape, Values::uninitialized(x.dtype(), size_of(shape))};
  std::byte* to = out.values.mutate_bytes();
  for (const Index row : rows) to = std::copy_n(x.values.bytes().data() + row * width, width, to);
  return out;
}

ModuleRemoval::ModuleRemoval(CausalLayers layers, const Graph& graph, std::vector<Index> kept,
                             std::vector<std::vector<Index>> experts)
    : layers_(std::move(layers)),
      lists_{layers_.name},
      kept_(std::move(kept)),
      experts_(std::move(experts)) {
  for (const Weight& w : graph.weights()) {
    if (!indexed_name(w.name, layers_.name)) continue;
    const std::string_view rest = std::string_view(w.name).substr(layers_.name.size());
    for (const std::string& alias : w.aliases)
      if (alias.ends_with(rest)) lists_.insert(alias.substr(0, alias.size() - rest.size()));
  }
}

std::optional<ModuleRemoval::Place> ModuleRemoval::find(const std::string& tensor) const {
  for (const std::string& list : lists_)
    if (const std::optional<IndexedName> at = indexed_name(tensor, list))
      return Place{&list, at->index, at->rest};
  return std::nullopt;
}

const std::vector<Index>* ModuleRemoval::experts_of(Index layer) const {
  if (!layers_.mixture || layer >= std::ssize(experts_) || experts_[layer].empty()) return nullptr;
  return &experts_[layer];
}

std::optional<std::string> ModuleRemoval::name_of(const std::string& tensor) const {
  const std::optional<Place> at = find(tensor);
  if (!at) return tensor;
  const std::optional<Index> layer = new_index(kept_, at->layer);
  if (!layer) return std::nullopt;
  std::string rest(at->rest);
  if (const std::vector<Index>* experts = experts_of(at->layer))
    if (const auto expert = indexed_name(at->rest, layers_.mixture->experts)) {
      const std::optional<Index> index = new_index(*experts, expert->index);
      if (!index) return std::nullopt;
      rest = fmt::format("{}.{}.{}", layers_.mixture->experts, *index, expert->rest);
    }
  return fmt::format("{}.{}.{}", *at->list, *layer, rest);
}

const std::vector<Index>* ModuleRemoval::rows_of(const std::string& tensor) const {
  const std::optional<Place> at = find(tensor);
  const std::vector<Index>* experts = at ? experts_of(at->layer) : nullptr;
  if (!experts) return nullptr;
  const CausalLayers::Mixture& m = *layers_.mixture;
  const bool is_router = at->rest.starts_with(m.router + ".");
  const bool is_stack = at->rest.starts_with(m.experts + ".") && !indexed_name(at->rest, m.experts);
  return is_router || is_stack ? experts : nullptr;
}

}  // namespace sten
