// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/bench/bench_layout.h"

#include <algorithm>
#include <cmath>

#include "libsten/core/registry/route.h"
#include "libsten/core/registry/structure.h"
#include "libsten/core/sparsify/magnitude.h"

namespace sten {
namespace {

constexpr double usual_sparsity = 0.9, rounding = 1e-3;

// Linear layers of BERT-base on a batch of 8 sequences of 512 tokens. The first one is the paper's
// (section 6.3).
struct NamedShape {
  const char* name;
  Index m, k, n;
};
constexpr NamedShape named_shapes[] = {{"bert-ffn-out", 768, 3072, 4096},
                                       {"bert-ffn-in", 3072, 768, 4096},
                                       {"bert-attention", 768, 768, 4096}};

}  // namespace

BenchLayout BenchLayout::parse(std::string_view text, BenchZeros numbers) {
  const Spec all = Spec::parse(text);
  Spec without(all.name());
  for (const auto& [key, value] : all.args())
    if (key != "sparsity") without.set(key, value);
  const bool prunes = numbers == BenchZeros::pruned || all.has("sparsity");
  const double sparsity = all.number("sparsity", usual_sparsity);
  if (!(sparsity >= 0 && sparsity <= 1))
    fail_usage("{}: sparsity must be in [0, 1], got {}", text, sparsity);
  const Spec given = as_structure(without);
  const Spec layout = registry().canonical(is_structure(given) ? layout_alone(given) : given);
  if (!prunes || layout.is(Dense::name))
    return {layout.str(), layout, std::nullopt, std::nullopt, numbers};
  if (is_structure(given)) {
    const Spec own = own_sparsifier(given);
    const double exact = sparsity_of(own).value_or(sparsity);
    if (all.has("sparsity") && std::abs(sparsity - exact) > rounding)
      fail_usage("{}: expected the layout's own sparsity {:.4g}, got {}", text, exact, sparsity);
    Spec name = layout;
    for (const auto& [key, value] : given.args())
      if (!layout.has(key)) name.set(key, value);
    if (numbers == BenchZeros::file) name.set("sparsity", fmt::format("{:.4g}", exact));
    return {name.str(), layout, own, std::nullopt};
  }
  // By the sparsifier of bcsr, or by magnitude.
  const auto by_sparsity = [&](Spec s) { return s.set("sparsity", fmt::to_string(sparsity)); };
  const auto own_keys = registry().own_keys(registry().own_sparsifier(layout.name()));
  const bool by_own = std::ranges::count(own_keys, "sparsity") > 0;
  const Spec pruned =
      by_own ? own_sparsifier(by_sparsity(layout)) : by_sparsity(Spec(Magnitude::name));
  return {by_sparsity(layout).str(), layout, std::nullopt, pruned};
}

Dense BenchLayout::prepare(const Dense& x) const {
  return pruned ? Dense::pack(x, registry().sparsifier(*pruned).select(x)) : x;
}

Tensor BenchLayout::convert(const Dense& prepared) const {
  if (sparsifier) return registry().prune(prepared, *sparsifier, layout);
  return sten::convert(prepared, layout);
}

std::string BenchLayout::pruning() const {
  const double sparsity = is_structure(layout)
                              ? sparsity_of(own_sparsifier(layout)).value_or(usual_sparsity)
                              : usual_sparsity;
  return Spec(layout).set("sparsity", fmt::format("{:.4g}", sparsity)).str();
}

Shape parse_bench_shape(const std::string& text, std::size_t rank) {
  std::vector<std::string> names;
  for (const NamedShape& s : named_shapes) {
    Shape shape{s.m, s.k, s.n};
    shape.resize(rank);
    if (text == s.name) return shape;
    names.emplace_back(s.name);
  }
  Shape shape;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('x', begin), text.size());
    Index extent = 0;
    if (!parse_integer(std::string_view(text).substr(begin, end - begin), extent) || extent < 0)
      shape.resize(rank + 1);
    shape.push_back(extent);
    begin = end + 1;
  }
  if (shape.size() != rank)
    fail_usage("--shape {}: expected {}{}", quote(text),
               rank == 2 ? "RxK, such as 768x3072" : "MxKxN, such as 768x3072x4096",
               suggestion(text, names));
  if (checked_size(shape) == 0) fail_usage("--shape {}: extents must be >= 1", text);
  return shape;
}

}  // namespace sten
