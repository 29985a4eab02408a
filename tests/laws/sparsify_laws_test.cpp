// SPDX-License-Identifier: Apache-2.0
// Laws of every registered sparsifier with every pair of layouts.
#include <doctest/doctest.h>

#include "libsten/core/base/fallback.h"
#include "libsten/core/dispatch/sparsify.h"
#include "tests/support/laws.h"
#include "tests/support/warnings.h"

using namespace sten;
using namespace sten::testing;

namespace {

// Sparsifies the dense form, and drops positions that were not stored.
Tensor of_dense(const Tensor& x, const Sparsifier& s, const Spec& layout, const Hints& hints) {
  Mask keep = s.select(x.to_dense(), hints);
  const Mask had = x.stored();
  for (Index i = 0; i < keep.size(); ++i) keep.set(i, keep[i] && had[i]);
  return registry().pack(x.to_dense(), keep, layout);
}

template <class F>
std::optional<Tensor> result_of(F&& f) {
  try {
    return f();
  } catch (const Error&) {
    return std::nullopt;
  }
}

// Some positions of x, including zeros, in a layout; none if the layout cannot hold them.
std::optional<Tensor> some_of(Dice& dice, const Dense& x, const Spec& layout) {
  const auto own = own_mask(dice, layout, x.extents);
  const Mask some = random_mask(dice, x.extents, dice.one_of<double>({0.1, 0.5, 1}));
  return result_of([&] { return registry().pack(x, own ? *own : some, layout); });
}

// Few magnitudes, so that many are equal, or any bits.
Dense some_numbers(Dice& dice, DType dtype, const Shape& shape) {
  if (dice.below(2)) return any_bits(dice, dtype, shape);
  Dense x = Dense::zeros(dtype, shape);
  const Dense few = any_bits(dice, dtype, {4});
  for (Index i = 0; i < x.size(); ++i)
    if (const Index k = dice.below(6); k < 4) x.values.put(i, few.values, k);
  return x;
}

}  // namespace

TEST_CASE("sparsifying from any layout to any layout matches sparsifying the dense form") {
  const Warnings warnings;  // dense fallbacks
  Dice dice(1);
  for (const auto& sparsifier : builtin_sparsifiers())
    for (const auto& from : registry().layouts()) {
      if (from.name == "dense") continue;  // everything is stored
      for (const auto& to : registry().layouts())
        for (int round = 0; round < shapes_to_try(4); ++round) {
          const Shape shape = random_shape(dice);
          const DType dtype = dice.one_of(prunable_dtypes());
          const Spec in = vary_layout(dice, from.spec, shape);
          const Spec out =
              dice.below(2) && from.name == to.name ? in : vary_layout(dice, to.spec, shape);
          Spec by = vary_sparsifier(dice, sparsifier.spec, shape);
          for (const char* key : {"sparsity", "fraction"})
            if (by.has(key)) by.set(key, dice.one_of<std::string>({"0", "0.3", "0.6", "0.9", "1"}));
          if ((by.is("nmg") || by.is("nmgv")) && dice.below(4) == 0) by.set("fit", "greedy");
          const Sparsifier s = registry().sparsifier(by);
          const auto x = some_of(dice, some_numbers(dice, dtype, shape), in);
          if (!x) continue;
          Dense scores = normals(dice, shape);
          const Mask had = random_mask(dice, shape, 0.5);
          const Sparsifier own = registry().sparsifier(Spec::parse("magnitude:sparsity=0.8"));
          const Hints hints{&had, &scores, &own};
          const auto want = result_of([&] { return of_dense(*x, s, out, hints); });
          const auto got = result_of([&] { return sparsify(*x, s, out, hints); });
          const bool is_same = want && got ? same_parts(want->save(), got->save())
                                           : want.has_value() == got.has_value();
          if (!is_same)
            FAIL_CHECK(by.str() << " of " << x->spec().str() << " as " << out.str() << ", "
                                << name_of(dtype) << " " << to_string(shape));
        }
    }
}

TEST_CASE("most built-in sparsifiers plan to select from sparse layouts without densifying") {
  const Spec csr("csr");
  for (const auto& sparsifier : builtin_sparsifiers()) {
    CAPTURE(sparsifier.name);
    const Sparsifier s = registry().sparsifier(sparsifier.spec);
    if (sparsifier.name == "resparsify" || sparsifier.name == "movement") continue;  // see below
    for (const auto& from : registry().layouts()) {
      if (from.name.starts_with("user-") || from.name == "dense" || from.name == "masked") continue;
      const SparsifyPlan plan = plan_sparsify(s, from.spec, csr);
      CAPTURE(plan.text);
      CHECK(plan.kind != DispatchKind::dense);
      CHECK(!plan.is_fallback);
    }
  }
  // movement: its scores are dense and rank all elements.
  const SparsifyPlan plan =
      plan_sparsify(registry().sparsifier(Spec::parse("movement:sparsity=0.5")), csr, csr);
  CHECK(plan.kind == DispatchKind::dense);
  CHECK(!plan.is_fallback);
}
