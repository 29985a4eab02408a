// Element types and shapes of steps, with extents that are known when a model runs at the latest.
// What is not said here stays unknown, which costs a fusion at most.
#include <algorithm>
#include <limits>
#include <map>

#include "libsten/base/error.h"
#include "libsten/base/text.h"
#include "libsten/onnx/draft.h"

namespace sten {
namespace {

// A step and what it takes.
struct Inference {
  Draft& draft;
  const DraftStep& step;
  DraftValue out;

  std::size_t inputs() const { return step.in.size(); }
  const DraftValue& in(std::size_t i) const {
    if (i >= inputs()) fail("it has no input {}", i);
    return draft[step.in[i]];
  }
  bool has_shapes() const {
    return std::ranges::all_of(step.in, [&](DraftRef r) { return draft[r].shape.has_value(); });
  }
  const ExtentList& shape(std::size_t i) const { return *in(i).shape; }
  // Attribute `name`, or the known integers of input i; nothing where the input is not known.
  std::optional<std::vector<Index>> list(std::size_t i, std::string_view name) const {
    if (i >= inputs()) return step.attributes.list(name, {});
    if (!in(i).elements) return {};
    Shape known;
    if (!all_known(*in(i).elements, known)) return {};
    return known;
  }
  // Where an axis is among `rank`. Error.
  std::size_t axis(Index a, std::size_t rank) const {
    const Index n = static_cast<Index>(rank), d = a < 0 ? a + n : a;
    if (d < 0 || d >= n) fail("axis {} of {} axes", a, rank);
    return static_cast<std::size_t>(d);
  }
  std::size_t axis(std::size_t rank, const char* name, Index fallback) const {
    return axis(step.attributes.integer(name, fallback), rank);
  }
};

void same(Inference& i) {
  i.out.dtype = i.in(0).dtype;
  i.out.shape = i.in(0).shape;
}

void repeated(Inference& i) {
  if (!i.has_shapes()) return;
  ExtentList all = i.shape(0);
  for (std::size_t k = 1; k < i.inputs(); ++k) all = broadcast(i.draft, all, i.shape(k));
  i.out.shape = std::move(all);
}
void binary(Inference& i) {
  i.out.dtype = i.in(0).dtype;
  repeated(i);
}
void comparison(Inference& i) {
  i.out.dtype = DType::BOOL;
  repeated(i);
}
void choice(Inference& i) {
  i.out.dtype = i.in(1).dtype;
  repeated(i);
}

void cast(Inference& i) {
  i.out.dtype = dtype_from(i.step.attributes.word("to", ""));
  i.out.shape = i.in(0).shape;
}

void linear(Inference& i) {
  i.out.dtype = i.in(0).dtype;
  if (!i.in(0).shape || !i.in(1).shape || i.shape(1).size() != 2 || i.shape(0).empty()) return;
  i.out.shape = i.shape(0);
  i.out.shape->back() = i.shape(1)[0];
}

void matmul(Inference& i) {
  i.out.dtype = i.in(0).dtype;
  if (!i.has_shapes()) return;
  const ExtentList &a = i.shape(0), &b = i.shape(1);
  if (a.size() < 2 || b.size() < 2) return;
  ExtentList out = broadcast(i.draft, {a.begin(), a.end() - 2}, {b.begin(), b.end() - 2});
  out.push_back(a[a.size() - 2]);
  out.push_back(b.back());
  i.out.shape = std::move(out);
}

void reshape(Inference& i) {
  i.out.dtype = i.in(0).dtype;
  ExtentList to;
  if (i.inputs() > 1) {
    if (!i.in(1).elements) return;
    to = *i.in(1).elements;
  } else {
    to = known(i.step.attributes.list("shape", {}));
  }
  const bool copies = i.step.attributes.integer("copy-zeros", 0) != 0;
  std::optional<std::size_t> open;
  for (std::size_t d = 0; d < to.size(); ++d) {
    if (copies && to[d].is(0)) {
      if (!i.in(0).shape) {
        to[d] = i.draft.extents.fresh();
      } else {
        if (d >= i.shape(0).size()) fail("there is no extent for the 0 at axis {}", d);
        to[d] = i.shape(0)[d];
      }
    } else if (to[d].is_known() ? to[d].number < 0 : !i.draft.extents.is_natural(to[d])) {
      if (open) return;
      open = d;
    }
  }
  if (open && to[*open].is(-1)) {
    ExtentList others = to;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(*open));
    to[*open] =
        i.in(0).shape ? i.draft.extents.quotient(i.shape(0), others) : i.draft.extents.fresh();
  }
  i.out.shape = std::move(to);
}

void squeeze(Inference& i) {
  i.out.dtype = i.in(0).dtype;
  const auto axes = i.list(1, "axes");
  if (!axes || !i.in(0).shape) return;
  const ExtentList& x = i.shape(0);
  std::vector<bool> gone(x.size());
  for (const Index a : *axes) gone[i.axis(a, x.size())] = true;
  ExtentList out;
  for (std::size_t d = 0; d < x.size(); ++d) {
    if (axes->empty() && !x[d].is_known()) return;
    if (axes->empty() ? !x[d].is(1) : !gone[d]) out.push_back(x[d]);
  }
  i.out.shape = std::move(out);
}

void unsqueeze(Inference& i) {
  i.out.dtype = i.in(0).dtype;
  const auto axes = i.list(1, "axes");
  if (!axes || !i.in(0).shape) return;
  std::vector<bool> is_new(i.shape(0).size() + axes->size());
  for (const Index a : *axes) is_new[i.axis(a, is_new.size())] = true;
  if (std::ranges::count(is_new, true) != std::ssize(*axes)) fail("an axis is named twice");
  ExtentList out;
  std::size_t next = 0;
  for (const bool one : is_new) out.push_back(one ? known(1) : i.shape(0)[next++]);
  i.out.shape = std::move(out);
}

void flatten(Inference& i) {
  i.out.dtype = i.in(0).dtype;
  if (!i.in(0).shape) return;
  const ExtentList& x = i.shape(0);
  const Index rank = std::ssize(x), axis = i.step.attributes.integer("axis", 1);
  const Index cut = axis < 0 ? axis + rank : axis;
  if (cut < 0 || cut > rank) fail("axis {} of {} axes", axis, rank);
  i.out.shape = ExtentList{i.draft.extents.product({x.begin(), x.begin() + cut}),
                           i.draft.extents.product({x.begin() + cut, x.end()})};
}

void transpose(Inference& i) {
  i.out.dtype = i.in(0).dtype;
  if (!i.in(0).shape) return;
  const ExtentList& x = i.shape(0);
  ExtentList out = x;
  if (!i.step.attributes.has("axes")) {
    if (x.size() < 2) return;
    std::swap(out[x.size() - 1], out[x.size() - 2]);
  } else {
    const std::vector<Index>& axes = i.step.attributes.list("axes", {});
    if (axes.size() != x.size()) fail("{} axes for a value of {}", axes.size(), x.size());
    for (std::size_t d = 0; d < axes.size(); ++d) out[d] = x[i.axis(axes[d], x.size())];
  }
  i.out.shape = std::move(out);
}

void concat(Inference& i) {
  i.out.dtype = i.in(0).dtype;
  if (!i.has_shapes()) return;
  ExtentList out = i.shape(0);
  const std::size_t axis = i.axis(out.size(), "axis", 0);
  for (std::size_t k = 1; k < i.inputs(); ++k) {
    if (i.shape(k).size() != out.size())
      fail("values of {} and {} axes", out.size(), i.shape(k).size());
    out[axis] = i.draft.extents.sum(out[axis], i.shape(k)[axis]);
    for (std::size_t d = 0; d < out.size(); ++d)
      if (d != axis && !out[d].is_known()) out[d] = i.shape(k)[d];
  }
  i.out.shape = std::move(out);
}

Index magnitude(Index step) {
  return step > 0 ? step : -std::max(step, -std::numeric_limits<Index>::max());
}

// The indices of an axis from `begin` to before `end` by `step`; as numpy has them.
Extent part(Draft& draft, Extent extent, Extent begin, Extent end, Index step) {
  Extents& e = draft.extents;
  if (extent.is_known() && begin.is_known() && end.is_known()) {
    const Index n = extent.number, low = step > 0 ? 0 : -1, high = step > 0 ? n : n - 1;
    const auto place = [&](Index p) { return std::clamp(p < 0 ? p + n : p, low, high); };
    // A start before the first element is the first one, in either direction.
    const Index from = std::max<Index>(place(begin.number), 0), to = place(end.number);
    const Index span = step > 0 ? to - from : from - to;
    return known(span <= 0 || n == 0 ? 0 : ceil_div(span, magnitude(step)));
  }
  constexpr Index far = Index{1} << 30;
  const bool to_end = end == extent || (end.is_known() && end.number >= far);
  if (step == 1 && begin.is(0) && to_end) return extent;
  // From the beginning so many, where there are as many: a table of positions has them.
  if (step == 1 && begin.is(0) && !end.is_known() && e.is_natural(end) && extent.is_known())
    return end;
  if (step == 1 && begin.is(0) && end.is_known() && end.number >= 0 && end.number <= 1) return end;
  return e.fresh();
}

void slice(Inference& i) {
  i.out.dtype = i.in(0).dtype;
  if (!i.in(0).shape) return;
  ExtentList out = i.shape(0);
  const auto given = [&](std::size_t k, const char* name) -> std::optional<ExtentList> {
    if (k >= i.inputs()) return known(i.step.attributes.list(name, {}));
    return i.in(k).elements;
  };
  std::optional<ExtentList> begins = given(1, "begins"), ends = given(2, "ends");
  auto axes = i.list(3, "axes"), steps = i.list(4, "steps");
  const Attributes& one = i.step.attributes;
  if (one.has("axis") || one.has("begin") || one.has("end")) {
    axes = {one.integer("axis", 0)};
    begins = {known(one.integer("begin", 0))};
    ends = {known(one.integer("end", std::numeric_limits<Index>::max()))};
  }
  if (!axes) return;
  const std::size_t n = begins ? begins->size() : ends ? ends->size() : axes->size();
  if (axes->empty())
    for (std::size_t d = 0; d < n; ++d) axes->push_back(static_cast<Index>(d));
  for (std::size_t k = 0; k < axes->size(); ++k) {
    Extent& x = out[i.axis((*axes)[k], out.size())];
    if (!begins || !ends || !steps || k >= begins->size() || k >= ends->size())
      x = i.draft.extents.fresh();
    else
      x = part(i.draft, x, (*begins)[k], (*ends)[k], k < steps->size() ? (*steps)[k] : 1);
  }
  i.out.shape = std::move(out);
}

void expand(Inference& i) {
  i.out.dtype = i.in(0).dtype;
  const std::optional<ExtentList> to =
      i.inputs() > 1 ? i.in(1).elements : known(i.step.attributes.list("shape", {}));
  if (i.in(0).shape && to) i.out.shape = broadcast(i.draft, i.shape(0), *to);
}

void tile(Inference& i) {
  i.out.dtype = i.in(0).dtype;
  const std::optional<ExtentList> by =
      i.inputs() > 1 ? i.in(1).elements : known(i.step.attributes.list("repeats", {}));
  if (!i.in(0).shape || !by || by->size() != i.shape(0).size()) return;
  ExtentList out = i.shape(0);
  for (std::size_t d = 0; d < out.size(); ++d) out[d] = i.draft.extents.product({out[d], (*by)[d]});
  i.out.shape = std::move(out);
}

void pad(Inference& i) {
  i.out.dtype = i.in(0).dtype;
  const auto pads = i.list(1, "pads"), axes = i.list(3, "axes");
  if (!i.in(0).shape) return;
  ExtentList out = i.shape(0);
  const std::size_t n = out.size();
  if (!pads || !axes || !axes->empty() || pads->size() != 2 * n) {
    for (Extent& e : out) e = i.draft.extents.fresh();
  } else {
    for (std::size_t d = 0; d < n; ++d)
      for (const std::size_t side : {d, n + d})
        out[d] = i.draft.extents.sum(out[d], known((*pads)[side]));
  }
  i.out.shape = std::move(out);
}

void gather(Inference& i) {
  i.out.dtype = i.in(0).dtype;
  if (!i.has_shapes()) return;
  const ExtentList &x = i.shape(0), &ids = i.shape(1);
  const auto at = static_cast<std::ptrdiff_t>(i.axis(x.size(), "axis", 0));
  ExtentList out(x.begin(), x.begin() + at);
  out.insert(out.end(), ids.begin(), ids.end());
  out.insert(out.end(), x.begin() + at + 1, x.end());
  i.out.shape = std::move(out);
}
void like_indices(Inference& i) {
  i.out.dtype = i.in(0).dtype;
  i.out.shape = i.in(1).shape;
}

void reduce(Inference& i) {
  i.out.dtype = i.in(0).dtype;
  const auto axes = i.list(1, "axes");
  if (!axes || !i.in(0).shape) return;
  const ExtentList& x = i.shape(0);
  const bool keep = i.step.attributes.integer("keep", 0) != 0,
             noop = i.step.attributes.integer("noop", 0) != 0;
  std::vector<bool> gone(x.size(), axes->empty() && !noop);
  for (const Index a : *axes) gone[i.axis(a, x.size())] = true;
  ExtentList out;
  for (std::size_t d = 0; d < x.size(); ++d) {
    if (!gone[d])
      out.push_back(x[d]);
    else if (keep)
      out.push_back(known(1));
  }
  i.out.shape = std::move(out);
}
void place(Inference& i) {
  i.out.dtype = DType::I64;
  if (!i.in(0).shape) return;
  ExtentList out = i.shape(0);
  const auto at = i.axis(out.size(), "axis", 0);
  if (i.step.attributes.integer("keep", 0))
    out[at] = known(1);
  else
    out.erase(out.begin() + static_cast<std::ptrdiff_t>(at));
  i.out.shape = std::move(out);
}
void top(Inference& i) {
  i.out.dtype = i.in(0).dtype;
  if (!i.in(0).shape) return;
  ExtentList out = i.shape(0);
  const auto k = i.list(1, "k");
  Extent& e = out[i.axis(out.size(), "axis", -1)];
  if (i.inputs() < 2)
    e = known(i.step.attributes.integer("k", 1));
  else
    e = k && k->size() == 1 ? known(k->front()) : i.draft.extents.fresh();
  i.out.shape = std::move(out);
}
void top_places(Inference& i) {
  top(i);
  i.out.dtype = DType::I64;
}

void range(Inference& i) {
  i.out.dtype = i.in(0).dtype;
  const auto number = [&](std::size_t k) -> std::optional<Extent> {
    const auto& e = i.in(k).elements;
    return e && e->size() == 1 ? std::optional(e->front()) : std::nullopt;
  };
  const auto first = number(0), limit = number(1), step = number(2);
  Extent n = i.draft.extents.fresh();
  if (first && limit && step && first->is_known() && limit->is_known() && step->is_known() &&
      step->number != 0) {
    const Index by = step->number;
    const Extent span = by > 0 ? i.draft.extents.difference(*limit, *first)
                               : i.draft.extents.difference(*first, *limit);
    n = known(span.number <= 0 ? 0 : ceil_div(span.number, magnitude(by)));
  } else if (first && limit && step && step->is(1)) {
    if (const Extent e = i.draft.extents.difference(*limit, *first); i.draft.extents.is_natural(e))
      n = e;
  }
  i.out.shape = ExtentList{n};
}

void gather_tuples(Inference& i) {
  i.out.dtype = i.in(0).dtype;
  if (!i.has_shapes() || i.shape(1).empty() || !i.shape(1).back().is_known()) return;
  const ExtentList &x = i.shape(0), &ids = i.shape(1);
  const Index used = i.step.attributes.integer("batch-dims", 0) + ids.back().number;
  if (used < 0 || used > std::ssize(x)) fail("{} axes of {}", used, x.size());
  ExtentList out(ids.begin(), ids.end() - 1);
  out.insert(out.end(), x.begin() + used, x.end());
  i.out.shape = std::move(out);
}

void places_found(Inference& i) {
  i.out.dtype = DType::I64;
  if (!i.in(0).shape) return;
  i.out.shape = ExtentList{known(std::ssize(i.shape(0))), i.draft.extents.fresh()};
}

void filled(Inference& i) {
  i.out.dtype = i.inputs() > 1 ? i.in(1).dtype : DType::F32;
  if (i.in(0).elements) i.out.shape = *i.in(0).elements;
}

void shape_of(Inference& i) {
  i.out.dtype = DType::I64;
  if (!i.in(0).shape) return;
  const Index rank = std::ssize(i.shape(0));
  const auto place = [&](Index p) { return std::clamp<Index>(p < 0 ? p + rank : p, 0, rank); };
  const Index begin = place(i.step.attributes.integer("begin", 0)),
              end = place(i.step.attributes.integer("end", rank));
  i.out.shape = ExtentList{known(std::max<Index>(0, end - begin))};
}
void size_of_all(Inference& i) {
  i.out.dtype = DType::I64;
  i.out.shape = ExtentList{};
}

using Infer = void (*)(Inference&);
const std::map<std::string_view, Infer>& rules() {
  static const std::map<std::string_view, Infer> all = [] {
    std::map<std::string_view, Infer> m;
    for (const char* op : {"relu",
                           "gelu",
                           "gelu-tanh",
                           "tanh",
                           "sigmoid",
                           "scale",
                           "dropout",
                           "sqrt",
                           "exp",
                           "log",
                           "reciprocal",
                           "erf",
                           "softplus",
                           "elu",
                           "leaky-relu",
                           "hard-swish",
                           "hard-sigmoid",
                           "clip",
                           "floor",
                           "ceil",
                           "round",
                           "abs",
                           "neg",
                           "sign",
                           "not",
                           "identity",
                           "softmax",
                           "log-softmax",
                           "layer-norm",
                           "cum-sum",
                           "trilu",
                           "attention",
                           "sin",
                           "cos",
                           "tan",
                           "asin",
                           "acos",
                           "atan",
                           "sinh",
                           "cosh",
                           "asinh",
                           "acosh",
                           "atanh",
                           "selu",
                           "celu",
                           "thresholded-relu",
                           "softsign",
                           "mish",
                           "shrink",
                           "hardmax",
                           "scatter-elements",
                           "scatter-nd",
                           "reverse-sequence"})
      m[op] = same;
    for (const char* op :
         {"add", "sub", "mul", "div", "min", "max", "pow", "mod", "bit-shift", "p-relu"})
      m[op] = binary;
    for (const char* op : {"equal", "less", "less-or-equal", "greater", "greater-or-equal", "and",
                           "or", "xor", "is-nan", "is-inf"})
      m[op] = comparison;
    for (const char* op :
         {"sum", "mean", "reduce-max", "reduce-min", "reduce-prod", "reduce-l1", "reduce-l2",
          "reduce-sum-square", "reduce-log-sum", "reduce-log-sum-exp"})
      m[op] = reduce;
    m["where"] = choice;
    m["cast"] = cast;
    m["linear"] = linear;
    m["matmul"] = matmul;
    m["reshape"] = reshape;
    m["squeeze"] = squeeze;
    m["unsqueeze"] = unsqueeze;
    m["flatten"] = flatten;
    m["transpose"] = transpose;
    m["concat"] = concat;
    m["slice"] = slice;
    m["expand"] = expand;
    m["tile"] = tile;
    m["pad"] = pad;
    m["gather"] = m["embedding"] = gather;
    m["gather-elements"] = like_indices;
    m["gather-nd"] = gather_tuples;
    m["non-zero"] = places_found;
    m["arg-max"] = m["arg-min"] = place;
    m["top-k"] = top;
    m["top-k-indices"] = top_places;
    m["range"] = range;
    m["constant-of-shape"] = filled;
    m["shape"] = shape_of;
    m["size"] = size_of_all;
    return m;
  }();
  return all;
}

}  // namespace

ExtentList broadcast(Draft& draft, const ExtentList& a, const ExtentList& b) {
  const ExtentList &longer = a.size() < b.size() ? b : a, &shorter = a.size() < b.size() ? a : b;
  ExtentList out = longer;
  const std::size_t more = longer.size() - shorter.size();
  for (std::size_t d = 0; d < shorter.size(); ++d) {
    Extent& x = out[more + d];
    const Extent y = shorter[d];
    if (x == y || y.is(1)) continue;
    if (x.is(1))
      x = y;
    else if (x.is_known() && y.is_known())
      fail("extents {} and {} at axis {} cannot be repeated to each other", x.number, y.number,
           more + d);
    else if (y.is_known())
      x = y;  // the other is 1 or the same
    else if (!x.is_known())
      x = draft.extents.fresh();
  }
  return out;
}

DraftValue infer(Draft& draft, const DraftStep& step) {
  Inference i{draft, step, {}};
  const auto rule = rules().find(step.op.text());
  if (rule != rules().end()) rule->second(i);
  i.out.elements = infer_elements(draft, step, i.out);
  return std::move(i.out);
}

}  // namespace sten
