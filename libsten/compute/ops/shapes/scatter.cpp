// SPDX-License-Identifier: Apache-2.0
// Scatters: a tensor with elements replaced, or reduced with updates, at indices.
#include <algorithm>
#include <type_traits>

#include "libsten/compute/ops/common/check.h"
#include "libsten/compute/ops/common/elements.h"
#include "libsten/compute/ops/common/output.h"
#include "libsten/compute/ops/common/register.h"
#include "libsten/compute/ops/shapes/gathered_slices.h"

namespace sten {
namespace {

struct Scatter {
  const char *op, *grad;
  bool by_tuples;

  GatheredSlices slices(const char* who, const Call& call, const Shape& x, const Dense& ids) const {
    if (by_tuples) {
      call.attributes.check(who, {"reduction"});
      return gather_nd_slices(who, 0, x, ids);
    }
    call.attributes.check(who, {"axis", "reduction"});
    return gather_elements_slices(who, call.attributes.integer("axis", 0), x, ids);
  }
};

// Calls f(old value, update) by the reduction's name.
template <class T, class F>
void with_reduction(const char* op, const std::string& name, F&& f) {
  if (name == "add")
    f([](T a, T b) { return static_cast<T>(a + b); });
  else if (name == "mul")
    f([](T a, T b) { return static_cast<T>(a * b); });
  else if (name == "min")  // NaN wins
    f([](T a, T b) { return b < a || b != b ? b : a; });
  else if (name == "max")
    f([](T a, T b) { return b > a || b != b ? b : a; });
  else
    fail_usage("{}: unknown reduction '{}' (expected none, add, mul, min or max)", op, name);
}

// In the order of updates.
template <class T, class F>
void combine(const GatheredSlices& p, const T* updates, T* y, F f) {
  for (const Index at : p.at)
    for (Index k = 0; k < p.n; ++k, ++updates) y[at + k] = f(y[at + k], *updates);
}

Outputs scatter(const Scatter& s, const Call& call) {
  const Dense &x = call.in[0].as<Dense>(), &updates = call.in[2].as<Dense>();
  const GatheredSlices p = s.slices(s.op, call, x.extents, call.in[1].as<Dense>());
  check_dtypes(s.op, "x", x.dtype(), "updates", updates.dtype());
  if (updates.extents != p.shape)
    fail_usage("{}: updates are {}, expected {}", s.op, to_string(updates.extents),
               to_string(p.shape));
  const std::string reduction = call.attributes.word("reduction", "none");
  if (reduction == "none") {
    Dense y = x;
    with_width(y.values.width(), [&]<class U>(U) {
      combine(p, updates.values.as<U>().data(), y.values.mutate<U>().data(),
              [](U, U update) { return update; });
    });
    return {std::move(y)};
  }
  const DType in = computed_in(s.op, x.dtype());
  Dense y = to_compute(s.op, x, in);
  const Dense more = to_compute(s.op, updates, in);
  with_computed(in, [&]<class T>(T) {
    // Integers wrap.
    using C = std::conditional_t<std::integral<T>, std::uint64_t, T>;
    const bool is_sum = reduction == "add" || reduction == "mul";
    const auto run = [&]<class V>(V) {
      with_reduction<V>(s.op, reduction, [&](auto f) {
        combine(p, more.values.as<V>().data(), y.values.mutate<V>().data(), f);
      });
    };
    if (is_sum)
      run(C{});
    else
      run(T{});
  });
  return {Dense{y.extents, as_dtype(s.op, y.values, x.dtype())}};
}

// x keeps the gradient of elements without updates; of several updates, only the last has a
// gradient.
Outputs scatter_grad(const Scatter& s, const Call& call) {
  const Dense &dy = call.in[0].as<Dense>(), &ids = call.in[1].as<Dense>();
  const GatheredSlices p = s.slices(s.grad, call, dy.extents, ids);
  check_gradient(s.grad, dy, input_shape(s.grad, call, 0));
  const std::string reduction = call.attributes.word("reduction", "none");
  const bool is_sum = reduction == "add";
  if (!is_sum && reduction != "none")
    fail_usage("{}: the reduction '{}' has no gradient", s.grad, reduction);
  Outputs out(3);
  if (call.wants(0)) out[0] = dy;
  if (is_sum) {
    if (call.wants(2)) out[2] = gather_slices(dy, p);
    return out;
  }
  with_real(s.grad, dy.dtype(), [&]<class T>(T) {
    if (call.wants(0)) {
      Dense dx = dy;
      T* to = dx.values.mutate<T>().data();
      for (const Index at : p.at) std::fill_n(to + at, p.n, T{0});
      out[0] = std::move(dx);
    }
    if (!call.wants(2)) return;
    std::vector<Index> last(dy.size());
    Index i = 0;
    for (const Index at : p.at)
      for (Index k = 0; k < p.n; ++k) last[at + k] = i++;
    Dense du = gather_slices(dy, p);
    const std::span<T> to = du.values.mutate<T>();
    i = 0;
    for (const Index at : p.at)
      for (Index k = 0; k < p.n; ++k, ++i)
        if (last[at + k] != i) to[i] = 0;
    out[2] = std::move(du);
  });
  return out;
}

}  // namespace

void add_scatters(Operators& all) {
  for (const Scatter s : {Scatter{"scatter-elements", "scatter-elements.grad", false},
                          Scatter{"scatter-nd", "scatter-nd.grad", true}}) {
    all.declare(s.op, {SavedForBackward::others});
    all.add({s.op, {"dense", "dense", "dense"}, {{}}},
            [s](const Call& call) { return scatter(s, call); });
    all.add({s.grad, {"dense", "dense", "dense"}, {{}, {}, {}}},
            [s](const Call& call) { return scatter_grad(s, call); });
  }
}

}  // namespace sten
