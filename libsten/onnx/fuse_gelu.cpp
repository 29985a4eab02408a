#include <cmath>
#include <numbers>

#include "libsten/onnx/fuse.h"

namespace sten {
namespace {

// v as a product of two values and a number.
struct Product {
  DraftRef a = 0, b = 0;
  double by = 1;
};
// (a * b) * 0.5, (a * 0.5) * b, and the other orders; nothing where there are more factors.
std::optional<Product> product_of(const Draft& draft, DraftRef v) {
  const Scaled outer = unscaled(draft, v);
  const DraftStep* s = draft.step_of(outer.x, "mul");
  if (!s) return {};
  const Scaled a = unscaled(draft, s->in[0]), b = unscaled(draft, s->in[1]);
  return Product{a.x, b.x, outer.by * a.by * b.by};
}

// x of f(x) + 1.
std::optional<DraftRef> one_more(const Draft& draft, DraftRef v, const char* f) {
  const DraftStep* sum = draft.step_of(v, "add");
  if (!sum) return {};
  const auto other = beside(*sum, [&](DraftRef r) { return is_about(number_in(draft, r), 1); });
  const DraftStep* s = other ? draft.step_of(*other, f) : nullptr;
  return s ? std::optional(s->in[0]) : std::nullopt;
}

bool is_cube(const Draft& draft, DraftRef v, DraftRef x) {
  if (const DraftStep* s = draft.step_of(v, "pow"))
    return s->in[0] == x && is_about(number_in(draft, s->in[1]), 3);
  const DraftStep* s = draft.step_of(v, "mul");
  return s && beside(*s, [&](DraftRef r) { return square_root(draft, r) == x; }) == x;
}

bool is_erf_of(const Draft& draft, DraftRef v, DraftRef x) {
  const Scaled z = unscaled(draft, v);
  return z.x == x && is_about(z.by, std::numbers::sqrt2 / 2);
}

// sqrt(2 / pi) * (x + 0.044715 * x^3).
bool is_tanh_of(const Draft& draft, DraftRef v, DraftRef x) {
  const Scaled z = unscaled(draft, v);
  const DraftStep* sum = draft.step_of(z.x, "add");
  if (!sum || !is_about(z.by, std::sqrt(2 / std::numbers::pi))) return false;
  return beside(*sum, [&](DraftRef r) {
           const Scaled cube = unscaled(draft, r);
           return is_about(cube.by, 0.044715) && is_cube(draft, cube.x, x);
         }) == x;
}

template <class F>
Index fuse_each(Draft& draft, const char* op, const char* function, F&& is_argument) {
  for (std::size_t i = 0; i < draft.steps().size(); ++i) {
    const DraftRef out = draft.steps()[i].out;
    const auto p = product_of(draft, out);
    if (!p || !is_about(p->by, 0.5)) continue;
    for (const auto& [x, gate] : {std::pair{p->a, p->b}, {p->b, p->a}}) {
      const auto z = one_more(draft, gate, function);
      if (!z || !is_argument(*z, x)) continue;
      DraftStep& step = draft.change(out);
      step.op = op;
      step.in = {x};
      step.attributes = {};
      break;
    }
  }
  return count_needed(draft, op);
}

}  // namespace

Index fuse_gelu(Draft& draft) {
  return fuse_each(draft, "gelu", "erf",
                   [&](DraftRef z, DraftRef x) { return is_erf_of(draft, z, x); });
}
Index fuse_gelu_tanh(Draft& draft) {
  return fuse_each(draft, "gelu-tanh", "tanh",
                   [&](DraftRef z, DraftRef x) { return is_tanh_of(draft, z, x); });
}

}  // namespace sten
