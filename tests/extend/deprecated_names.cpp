// SPDX-License-Identifier: Apache-2.0
// Programs that use deprecated names still build, with warnings, and behave the same.
#include <doctest/doctest.h>

#include "libsten/base/kept_memory.h"
#include "libsten/sparsify/per_block.h"
#include "libsten/sten.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

using namespace sten;

TEST_CASE("deprecated names are aliases of the current ones") {
  keep_more_memory();
  release_kept_memory();
  const Operator gate{Keeps::inputs};
  CHECK(gate.saves == SavedForBackward::inputs);
  const Plan plan{};
  CHECK(plan.way == Way::exact);
  const SparsifyPlan sparsify_plan{};
  CHECK(sparsify_plan.way == Way::exact);
  CHECK(std::same_as<PerBlock, NmMagnitude>);

  Tape tape;
  const Var x = tape.parameter(Dense::of({4}, {1, -2, 3, -4})), h = relu(x);
  h.keep_grad();
  const LateSparsity pruned(h, registry().sparsifier(Spec::parse("gradient:sparsity=0.5")),
                            Spec("csr"));
  tape.backward(h, Dense::of({4}, {1, 1, 1, 1}));
  CHECK(h.grad());
}
