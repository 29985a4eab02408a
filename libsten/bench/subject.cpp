#include "libsten/bench/subject.h"

#include <algorithm>

#include "libsten/dispatch/route.h"
#include "libsten/dispatch/structure.h"
#include "libsten/sparsify/magnitude.h"

namespace sten {
namespace {

// Linear layers of BERT-base on a batch of 8 sequences of 512 tokens; the first is what the paper
// measures (section 6.3).
struct NamedShape {
  const char* name;
  Index m, k, n;
};
constexpr NamedShape named_shapes[] = {{"bert-ffn-out", 768, 3072, 4096},
                                       {"bert-ffn-in", 3072, 768, 4096},
                                       {"bert-attention", 768, 768, 4096}};

}  // namespace

BenchLayout BenchLayout::parse(std::string_view text) {
  const Spec given = as_structure(Spec::parse(text));
  if (is_structure(given)) {
    const Spec layout = registry().canonical(layout_alone(given));
    Spec name = layout;
    for (const auto& [key, value] : given.args())
      if (!layout.has(key)) name.set(key, value);
    return {name.str(), layout, own_sparsifier(given), std::nullopt};
  }
  Spec layout(given.name());
  for (const auto& [key, value] : given.args())
    if (key != "sparsity") layout.set(key, value);
  layout = registry().canonical(layout);
  if (layout.is(Dense::name)) return {layout.str(), layout, std::nullopt, std::nullopt};
  const double sparsity = given.number("sparsity", 0.9);
  if (!(sparsity >= 0 && sparsity <= 1))
    fail_usage("{}: sparsity={} is not within 0 and 1", text, sparsity);
  // By its own sparsifier, which is bcsr's, or by magnitude.
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
    fail_usage("--shape {} is not of the form {}{}", quote(text),
               rank == 2 ? "RxK, as 768x3072" : "MxKxN, as 768x3072x4096", suggestion(text, names));
  if (checked_size(shape) == 0) fail_usage("--shape {} has nothing to measure", text);
  return shape;
}

}  // namespace sten
