// SPDX-License-Identifier: Apache-2.0
// Sums of products over named axes: "bij,bjk->bik". Operands are combined from the left, two at a
// time, by matrix products.
#include <algorithm>
#include <map>

#include "libsten/compute/ops/common/check.h"
#include "libsten/compute/ops/common/operators.h"
#include "libsten/compute/ops/common/output.h"
#include "libsten/compute/ops/common/register.h"
#include "libsten/compute/ops/common/strided_copy.h"
#include "libsten/compute/ops/shapes/permute.h"

namespace sten {
namespace {

// A letter; or axis_label + n for the n-th last axis of "...".
using Label = int;
using Labels = std::vector<Label>;
constexpr Label axis_label = 256;

bool has(const Labels& all, Label l) { return std::ranges::count(all, l) > 0; }

// Labels of "ab...c" for a tensor with so many axes of "...".
Labels labels_of(const char* op, const std::string& equation, const std::string& text, Index open) {
  Labels all;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      all.push_back(c);
    } else if (text.compare(i, 3, "...") == 0 && !has(all, axis_label) &&
               text.find("...", i + 3) == std::string::npos) {
      for (Index n = open; n-- > 0;) all.push_back(axis_label + static_cast<Label>(n));
      i += 2;
    } else {
      fail_usage("{}: the equation '{}' has a '{}': expected letters and at most one '...'", op,
                 equation, c);
    }
  }
  return all;
}

// A tensor with distinct labels.
struct Named {
  Dense x;
  Labels labels;
};

// How an operand is read: as diagonals for repeated labels, and without axes that are broadcast.
struct Reading {
  Labels labels;
  Shape extents;
  StridedView offsets;  // offsets in the operand
};

struct Equation {
  std::vector<Reading> in;
  Labels out;
  std::map<Label, Index> extents;

  Equation(const char* op, const Call& call, std::size_t first) {
    call.attributes.check(op, {"equation"});
    std::string text = call.attributes.word("equation", "");
    std::erase(text, ' ');
    const std::size_t arrow = text.find("->");
    std::vector<std::string> parts(1);
    for (const char c : text.substr(0, arrow))
      if (c == ',')
        parts.emplace_back();
      else
        parts.back() += c;
    if (parts.size() != call.in.size() - first)
      fail_usage("{}: the equation '{}' needs {} operands, got {}", op, text, parts.size(),
                 call.in.size() - first);
    std::vector<Labels> names;
    Index widest = 0;  // number of axes of "..."
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const Shape& shape = call.in[first + i].as<Dense>().extents;
      const Index letters = std::ranges::count_if(parts[i], [](char c) { return c != '.'; });
      const bool is_open = std::ssize(parts[i]) != letters;
      const Index open = is_open ? std::ssize(shape) - letters : 0;
      names.push_back(labels_of(op, text, parts[i], std::max<Index>(open, 0)));
      if (names.back().size() != shape.size())
        fail_usage("{}: an operand of '{}' is {}, which does not match '{}'", op, text,
                   to_string(shape), parts[i]);
      widest = std::max(widest, open);
      for (std::size_t d = 0; d < shape.size(); ++d) {
        Index& extent = extents.try_emplace(names[i][d], 1).first->second;
        if (extent != shape[d] && extent != 1 && shape[d] != 1)
          fail_usage("{}: the operands of '{}' have different extents for one letter: {} and {}",
                     op, text, extent, shape[d]);
        if (shape[d] != 1) extent = shape[d];
      }
    }
    for (std::size_t i = 0; i < parts.size(); ++i)
      in.push_back(reading_of(names[i], call.in[first + i].as<Dense>().extents));
    if (arrow == std::string::npos) {
      out = labels_of(op, text, "...", widest);
      for (const auto& [label, extent] : extents) {
        Index count = 0;
        for (const Labels& n : names) count += std::ranges::count(n, label);
        if (label < axis_label && count == 1) out.push_back(label);
      }
    } else {
      out = labels_of(op, text, text.substr(arrow + 2), widest);
    }
    for (const Label l : out)
      if (!extents.contains(l) || std::ranges::count(out, l) != 1)
        fail_usage("{}: the result of '{}' repeats a letter or has an unknown letter", op, text);
  }

  Shape shape_of(const Labels& labels) const {
    Shape s;
    for (const Label l : labels) s.push_back(extents.at(l));
    return s;
  }

 private:
  Reading reading_of(const Labels& names, const Shape& shape) const {
    Reading r;
    const StridedView all = StridedView::of(shape);
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (shape[d] == 1 && extents.at(names[d]) != 1) continue;
      const auto at = std::ranges::find(r.labels, names[d]) - r.labels.begin();
      if (at == std::ssize(r.labels)) {
        r.labels.push_back(names[d]);
        r.offsets.steps.push_back(0);
      }
      r.offsets.steps[at] += all.steps[d];
    }
    r.extents = shape_of(r.labels);
    return r;
  }
};

Named read(const Dense& x, const Reading& r) {
  if (size_of(r.extents) == x.size()) return {Dense{r.extents, x.values}, r.labels};
  Dense y{r.extents, Values::uninitialized(x.dtype(), size_of(r.extents))};
  strided_copy(r.extents, x.values, r.offsets, y.values, StridedView::of(r.extents));
  return {std::move(y), r.labels};
}

// Sums over labels that are not needed.
template <class F>
Named summed(Named a, F&& is_needed) {
  Attributes::List axes;
  Labels rest;
  for (std::size_t d = 0; d < a.labels.size(); ++d)
    if (is_needed(a.labels[d]))
      rest.push_back(a.labels[d]);
    else
      axes.push_back(static_cast<Index>(d));
  if (axes.empty()) return a;
  return {sum(Tensor(a.x), axes).to_dense(), std::move(rest)};
}

// Merges groups of axes in order, so that a becomes a matrix or a batch of matrices.
Tensor grouped(const Named& a, std::initializer_list<const Labels*> groups) {
  std::vector<Index> axes;
  Shape shape;
  for (const Labels* group : groups) {
    shape.push_back(1);
    for (const Label l : *group) {
      axes.push_back(std::ranges::find(a.labels, l) - a.labels.begin());
      shape.back() *= a.x.extents[axes.back()];
    }
  }
  return Dense{std::move(shape), permute(a.x, axes).values};
}

template <class F>
Named product(Named a, Named b, const Equation& e, F&& is_needed) {
  a = summed(std::move(a), [&](Label l) { return is_needed(l) || has(b.labels, l); });
  b = summed(std::move(b), [&](Label l) { return is_needed(l) || has(a.labels, l); });
  Labels both, inner, rows, cols;
  for (const Label l : a.labels)
    (!has(b.labels, l) ? rows : is_needed(l) ? both : inner).push_back(l);
  for (const Label l : b.labels)
    if (!has(a.labels, l)) cols.push_back(l);
  const Tensor c = matmul(grouped(a, {&both, &rows, &inner}), grouped(b, {&both, &inner, &cols}));
  Labels labels = both;
  labels.insert(labels.end(), rows.begin(), rows.end());
  labels.insert(labels.end(), cols.begin(), cols.end());
  const Shape shape = e.shape_of(labels);
  return {Dense{shape, *c.values()}, std::move(labels)};
}

// The sum of products with the labels of the result, broadcast along labels that no operand has.
Dense contract(const std::vector<Named>& in, const Equation& e, const Labels& out) {
  Named all = in[0];
  for (std::size_t i = 1; i < in.size(); ++i)
    all = product(std::move(all), in[i], e, [&](Label l) {
      return has(out, l) || std::any_of(in.begin() + i + 1, in.end(),
                                        [l](const Named& n) { return has(n.labels, l); });
    });
  all = summed(std::move(all), [&](Label l) { return has(out, l); });
  if (all.labels == out) return std::move(all.x);
  const StridedView own = StridedView::of(all.x.extents);
  StridedView from;
  for (const Label l : out) {
    const auto at = std::ranges::find(all.labels, l) - all.labels.begin();
    from.steps.push_back(at < std::ssize(all.labels) ? own.steps[at] : 0);
  }
  const Shape shape = e.shape_of(out);
  Dense y{shape, Values::uninitialized(all.x.dtype(), size_of(shape))};
  strided_copy(shape, all.x.values, from, y.values, StridedView::of(shape));
  return y;
}

void check_operands(const char* op, const Call& call) {
  for (const Tensor& t : call.in)
    check_dtypes(op, "an operand", call.in[0].dtype(), "another", t.dtype());
  with_real(op, call.in[0].dtype(), [](auto) {});
}

Outputs einsum(const Call& call) {
  check_operands("einsum", call);
  const Equation e("einsum", call, 0);
  std::vector<Named> in;
  for (std::size_t i = 0; i < e.in.size(); ++i) in.push_back(read(call.in[i].as<Dense>(), e.in[i]));
  return {contract(in, e, e.out)};
}

// The gradient of an operand is the sum of products of dy and the other operands, with the
// operand's labels.
Outputs einsum_grad(const Call& call) {
  check_operands("einsum.grad", call);
  const Equation e("einsum.grad", call, 1);
  const Dense& dy = call.in[0].as<Dense>();
  check_gradient("einsum.grad", dy, e.shape_of(e.out));
  Outputs out(e.in.size());
  for (std::size_t i = 0; i < e.in.size(); ++i) {
    if (!call.wants(i)) continue;
    std::vector<Named> in{{dy, e.out}};
    for (std::size_t k = 0; k < e.in.size(); ++k)
      if (k != i) in.push_back(read(call.in[k + 1].as<Dense>(), e.in[k]));
    const Dense g = contract(in, e, e.in[i].labels);
    Dense dx = Dense::zeros(dy.dtype(), call.in[i + 1].shape());
    strided_copy(e.in[i].extents, g.values, StridedView::of(e.in[i].extents), dx.values,
                 e.in[i].offsets);
    out[i] = std::move(dx);
  }
  return out;
}

}  // namespace

void add_einsum(Operators& all) {
  all.declare("einsum", {SavedForBackward::inputs});
  all.add({"einsum", {"dense", any::more}, {{}}}, einsum);
  all.add({"einsum.grad", {"dense", any::more}, {{}, {"", any::more}}}, einsum_grad);
}

}  // namespace sten
