// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/execution/embeddings.h"

#include <algorithm>

namespace sten::execution {
namespace {

// A term of the sum.
struct Term {
  std::size_t value;
  Shape shape;
  std::vector<EmbeddingSum::Table> tables;
};

std::optional<Term> embedding_of(const PlanContext& plan, std::size_t node, const Slots& slots) {
  const Node& n = plan.graph.nodes()[node];
  const std::vector<std::size_t>& in = plan.graph.arguments(node);
  const bool is_plain = n.attributes.all().empty();
  const bool takes_rows =
      n.op.text() == "embedding"
          ? is_plain
          : n.op.text() == "gather" && (is_plain || n.attributes == Attributes().set("axis", 0));
  if (!takes_rows || in.size() != 2 || !plan.is_weight(in[0])) return {};
  const auto& table = slots[in[0]].tensor;
  const auto& ids = slots[in[1]].tensor;
  if (!ids || !ids->is<Dense>() || !table->is<Dense>()) return {};
  if (table->dtype() != DType::F32 && table->dtype() != DType::BF16) return {};
  if (ids->device() != Device::cpu || table->device() != Device::cpu) return {};
  if (ids->dtype() != DType::I64 && ids->dtype() != DType::I32) return {};
  const Shape& rows = table->as<Dense>().extents;
  if (rows.size() != 2 || !are_within(ids->as<Dense>(), rows[0])) return {};
  Term t{plan.value_of(node), ids->as<Dense>().extents, {{in[0], in[1]}}};
  t.shape.push_back(rows[1]);
  return t;
}

// The broadcast shape.
std::optional<Shape> common_shape(const Shape& a, const Shape& b) {
  Shape out(std::max(a.size(), b.size()), 1);
  for (const Shape* s : {&a, &b})
    for (std::size_t d = 1; d <= s->size(); ++d) {
      const Index extent = (*s)[s->size() - d];
      Index& to = out[out.size() - d];
      if (extent == 1 || extent == to) continue;
      if (to != 1) return {};
      to = extent;
    }
  return out;
}

// Combines the two terms of an addition.
bool add_terms(const PlanContext& plan, std::size_t node, std::vector<Term>& terms) {
  const Node& n = plan.graph.nodes()[node];
  const std::vector<std::size_t>& in = plan.graph.arguments(node);
  if (n.op.text() != "add" || in.size() != 2 || in[0] == in[1] || !n.attributes.all().empty())
    return false;
  const auto find = [&](std::size_t value) {
    return std::ranges::find_if(terms, [&](const Term& t) { return t.value == value; });
  };
  const auto a = find(in[0]), b = find(in[1]);
  if (a == terms.end() || b == terms.end() || plan.graph.uses(in[0]) != 1 ||
      plan.graph.uses(in[1]) != 1)
    return false;
  const auto shape = common_shape(a->shape, b->shape);
  if (!shape || a->shape.back() != b->shape.back()) return false;
  Term sum{plan.value_of(node), *shape, a->tables};
  sum.tables.insert(sum.tables.end(), b->tables.begin(), b->tables.end());
  std::erase_if(terms, [&](const Term& t) { return t.value == in[0] || t.value == in[1]; });
  terms.push_back(std::move(sum));
  return true;
}

}  // namespace

bool are_within(const Dense& ids, Index rows) {
  const auto all = [&](auto from) {
    return std::ranges::all_of(from, [&](auto id) { return id >= 0 && Index{id} < rows; });
  };
  return ids.dtype() == DType::I64 ? all(ids.values.as<std::int64_t>())
                                   : all(ids.values.as<std::int32_t>());
}

std::optional<EmbeddingSum> match_embeddings(const PlanContext& plan, std::size_t node,
                                             const Slots& slots) {
  std::vector<Term> terms;
  std::optional<EmbeddingSum> found;
  for (std::size_t n = node; n < plan.graph.nodes().size(); ++n) {
    if (!plan.graph.nodes()[n].formats.out.is_dense()) break;
    if (auto term = embedding_of(plan, n, slots))
      terms.push_back(*std::move(term));
    else if (!add_terms(plan, n, terms))
      break;
    if (terms.size() == 1 && terms[0].shape.size() >= 2 && terms[0].shape.back() > 0)
      found = {n + 1 - node, terms[0].value, terms[0].shape, terms[0].tables};
  }
  return found;
}

}  // namespace sten::execution
