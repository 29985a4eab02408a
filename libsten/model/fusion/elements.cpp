// SPDX-License-Identifier: Apache-2.0
// Symbolic evaluation of the integers that shapes and indices are computed from.
#include <algorithm>
#include <cstdint>
#include <map>

#include "libsten/model/fusion/graph_builder.h"

namespace sten {
namespace {

using Elements = std::optional<ExtentList>;

struct Integers {
  GraphBuilder& builder;
  const BuilderNode& node;
  const BuilderValue& result;

  std::size_t inputs() const { return node.in.size(); }
  const BuilderValue& in(std::size_t i) const { return builder[node.in[i]]; }
  const ExtentList& of(std::size_t i) const { return *in(i).elements; }
  // The size of the result: that of the largest input.
  std::size_t size() const {
    std::size_t n = 1;
    for (std::size_t i = 0; i < inputs(); ++i)
      if (of(i).size() != 1) n = of(i).size();
    return n;
  }
  Extent at(std::size_t i, std::size_t k) const { return of(i).size() == 1 ? of(i)[0] : of(i)[k]; }
  // Applies f to the elements of two inputs, broadcast to each other.
  template <class F>
  Elements each(F&& f) const {
    ExtentList out;
    for (std::size_t k = 0; k < size(); ++k) {
      const std::optional<Extent> e = f(at(0, k), at(inputs() - 1, k));
      if (!e) return {};
      out.push_back(*e);
    }
    return out;
  }
};

Elements first(const Integers& i) { return i.of(0); }

// Casts from floats would need rounding, which is left to the operator.
Elements cast(const Integers& i) {
  if (i.result.dtype != DType::BOOL) return i.of(0);
  ExtentList out;
  for (const Extent& e : i.of(0)) {
    if (!e.is_known()) return {};
    out.push_back(known(e.number != 0));
  }
  return out;
}

Elements shape(const Integers& i) {
  if (!i.in(0).shape || !i.result.shape) return {};
  const ExtentList& all = *i.in(0).shape;
  const Index rank = std::ssize(all), begin = i.node.attributes.integer("begin", 0);
  const Index from = std::clamp<Index>(begin < 0 ? begin + rank : begin, 0, rank);
  const ExtentList& n = *i.result.shape;
  return ExtentList(all.begin() + from, all.begin() + from + n[0].number);
}
Elements size(const Integers& i) {
  if (!i.in(0).shape) return {};
  return ExtentList{i.builder.extents.product(*i.in(0).shape)};
}

Elements gather(const Integers& i) {
  const Index n = std::ssize(i.of(0));
  ExtentList out;
  for (const Extent& e : i.of(1)) {
    const Index at = e.number < 0 ? e.number + n : e.number;
    if (!e.is_known() || at < 0 || at >= n) return {};
    out.push_back(i.of(0)[at]);
  }
  return out;
}

Elements slice(const Integers& i) {
  const auto number = [&](std::size_t k, const char* name, Index fallback) -> std::optional<Index> {
    if (k < i.inputs()) {
      if (i.of(k).size() != 1 || !i.of(k)[0].is_known()) return {};
      return i.of(k)[0].number;
    }
    const std::vector<Index> list = i.node.attributes.list(name, {fallback});
    if (list.size() != 1) return list.empty() ? std::optional(fallback) : std::nullopt;
    return list[0];
  };
  auto begin = number(1, "begins", 0), end = number(2, "ends", 0), by = number(4, "steps", 1);
  if (i.node.attributes.has("begin")) {
    begin = i.node.attributes.integer("begin", 0);
    end = i.node.attributes.integer("end", 0);
  }
  if (!begin || !end || !by || *by == 0 || i.in(0).shape->size() != 1) return {};
  const ExtentList& x = i.of(0);
  const Index n = std::ssize(x), low = *by > 0 ? 0 : -1, high = *by > 0 ? n : n - 1;
  const auto place = [&](Index p) { return std::clamp(p < 0 ? p + n : p, low, high); };
  // Larger steps have the same effect.
  const Index node = std::clamp(*by, -n - 1, n + 1);
  ExtentList out;
  for (Index k = place(*begin), to = place(*end); node > 0 ? k < to : k > to; k += node)
    out.push_back(x[k]);
  return out;
}

Elements concat(const Integers& i) {
  Index count = 0;
  for (std::size_t k = 0; k < i.inputs(); ++k) count += std::ssize(i.of(k));
  if (count > most_known_elements) return {};
  ExtentList out;
  for (std::size_t k = 0; k < i.inputs(); ++k)
    out.insert(out.end(), i.of(k).begin(), i.of(k).end());
  return out;
}

Elements repeat(const Integers& i) {
  Shape to;
  if (!i.result.shape || !all_known(*i.result.shape, to) || to.size() > 1 ||
      size_of(to) > most_known_elements)
    return {};
  if (i.of(0).size() != 1 && std::ssize(i.of(0)) != size_of(to)) return {};
  ExtentList out;
  for (Index k = 0; k < size_of(to); ++k) out.push_back(i.at(0, k));
  return out;
}

Elements fill(const Integers& i) {
  Shape to;
  if (!all_known(i.of(0), to) || to.size() > 1 || size_of(to) > most_known_elements) return {};
  return ExtentList(size_of(to), i.inputs() > 1 ? i.of(1)[0] : known(0));
}

Elements range(const Integers& i) {
  Shape to;
  if (!i.result.shape || !all_known(*i.result.shape, to) || to[0] > most_known_elements ||
      !i.of(0)[0].is_known())
    return {};
  ExtentList out;
  for (Index k = 0; k < to[0]; ++k) out.push_back(known(i.of(0)[0].number + k * i.of(2)[0].number));
  return out;
}

Elements product_of_all(const Integers& i) {
  return ExtentList{i.builder.extents.product(i.of(0))};
}

Elements add(const Integers& i) {
  return i.each([&](Extent a, Extent b) { return i.builder.extents.sum(a, b); });
}
Elements subtract(const Integers& i) {
  return i.each([&](Extent a, Extent b) { return i.builder.extents.difference(a, b); });
}
Elements multiply(const Integers& i) {
  return i.each([&](Extent a, Extent b) { return i.builder.extents.product({a, b}); });
}
Elements divide(const Integers& i) {
  return i.each([&](Extent a, Extent b) -> std::optional<Extent> {
    if (b.is(0)) return {};
    return i.builder.extents.quotient(a, b);
  });
}
template <bool larger>
Elements extreme(const Integers& i) {
  return i.each([&](Extent a, Extent b) {
    if (a == b) return a;
    if (a.is_known() && b.is_known())
      return known(larger ? std::max(a.number, b.number) : std::min(a.number, b.number));
    return i.builder.extents.expression(larger ? "max" : "min", a, b);
  });
}
Elements equal(const Integers& i) {
  return i.each([&](Extent a, Extent b) -> std::optional<Extent> {
    if (a == b) return known(1);
    if (a.is_known() && b.is_known()) return known(0);
    // An extent is never -1.
    const Extent number = a.is_known() ? a : b, symbol = a.is_known() ? b : a;
    if (number.is_known() && number.number < 0 && i.builder.extents.is_natural(symbol))
      return known(0);
    return {};
  });
}
Elements choose(const Integers& i) {
  ExtentList out;
  for (std::size_t k = 0; k < i.size(); ++k) {
    const Extent a = i.at(1, k), b = i.at(2, k), which = i.at(0, k);
    if (a != b && !which.is_known()) return {};
    out.push_back(a == b || which.number != 0 ? a : b);
  }
  return out;
}

using Rule = Elements (*)(const Integers&);
const std::map<std::string_view, Rule> element_rules{
    {"identity", first},  {"cast", cast},          {"squeeze", first},
    {"unsqueeze", first}, {"reshape", first},      {"flatten", first},
    {"gather", gather},   {"slice", slice},        {"concat", concat},
    {"expand", repeat},   {"range", range},        {"constant-of-shape", fill},
    {"add", add},         {"sub", subtract},       {"mul", multiply},
    {"div", divide},      {"min", extreme<false>}, {"max", extreme<true>},
    {"equal", equal},     {"where", choose},       {"reduce-prod", product_of_all}};

}  // namespace

std::optional<ExtentList> infer_elements(GraphBuilder& builder, const BuilderNode& node,
                                         const BuilderValue& result) {
  const bool is_whole =
      result.dtype == DType::I64 || result.dtype == DType::I32 || result.dtype == DType::BOOL;
  if (!is_whole || !result.shape || result.shape->size() > 1) return {};
  const Integers i{builder, node, result};
  if (node.op.text() == "shape") return shape(i);
  if (node.op.text() == "size") return size(i);
  const auto rule = element_rules.find(node.op.text());
  if (rule == element_rules.end()) return {};
  for (const ValueRef r : node.in)
    if (!builder[r].elements) return {};
  if (node.op.text() == "reduce-prod" && builder[node.in[0]].shape->size() != 1) return {};
  std::optional<ExtentList> out = rule->second(i);
  // Rejects elements that do not match the shape, as of inputs of higher rank.
  Shape n;
  if (out && all_known(*result.shape, n) && size_of(n) != std::ssize(*out)) return {};
  // Integers beyond 32 bits wrap, which is left to the operator.
  const auto wraps = [](const Extent& e) {
    return e.is_known() && e.number != static_cast<std::int32_t>(e.number);
  };
  if (out && result.dtype == DType::I32 && std::ranges::any_of(*out, wraps)) return {};
  return out;
}

}  // namespace sten
