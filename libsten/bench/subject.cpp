#include "libsten/bench/subject.h"

#include <algorithm>

#include "libsten/dispatch/route.h"

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
  const Spec given = Spec::parse(text);
  const bool is_n_of_m = given.is("nm") || given.is("nmg");
  BenchLayout out{"", Spec(given.name()), std::nullopt, std::nullopt};
  for (const auto& [key, value] : given.args())
    if (key != (is_n_of_m ? "fit" : "sparsity")) out.layout.set(key, value);
  out.layout = registry().canonical(out.layout);
  Spec name = out.layout;
  if (is_n_of_m) {
    out.sparsifier = Spec(given.is("nm") ? "per-block" : "nmg");
    for (const auto& [key, value] : given.args()) out.sparsifier->set(key, value);
    registry().sparsifier(*out.sparsifier);
    if (given.has("fit")) name.set("fit", std::string(given.word("fit", "")));
  } else if (!given.is("dense")) {
    const double sparsity = given.number("sparsity", 0.9);
    if (!(sparsity >= 0 && sparsity <= 1))
      fail_usage("{}: sparsity={} is not within 0 and 1", text, sparsity);
    out.pruned = Spec(given.is("bcsr") ? "block-magnitude" : "magnitude");
    out.pruned->set("sparsity", fmt::to_string(sparsity));
    if (given.is("bcsr")) out.pruned->set("h", given.integer("h")).set("w", given.integer("w"));
    registry().sparsifier(*out.pruned);
    name.set("sparsity", fmt::to_string(sparsity));
  }
  out.name = name.str();
  return out;
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
