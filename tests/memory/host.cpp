// SPDX-License-Identifier: Apache-2.0
// State of the host process that the library does not change.
#include <dlfcn.h>
#include <doctest/doctest.h>

#include "libsten/compute/ops/common/operators.h"
#include "libsten/core/base/memory_pool.h"
#include "libsten/model/graph/graph.h"
#include "tests/support/parts.h"

namespace {

int settings = 0;

}  // namespace

// Replaces the C library's mallopt.
extern "C" int mallopt(int parameter, int value) {
  ++settings;
  const auto real = reinterpret_cast<int (*)(int, int)>(dlsym(RTLD_NEXT, "mallopt"));
  return real ? real(parameter, value) : 0;
}

using namespace sten;
using namespace sten::testing;

TEST_CASE("models and gradients do not call mallopt, but enlarge_memory_pool does") {
  Dice dice(1);
  const Tensor x = normals(dice, {8, 16}), w = normals(dice, {4, 16});
  const Graph g({{"x"}, {{"w", {4, 16}}}, {{"y", "linear", {"x", "w"}}}, {"y"}});
  g.run<Tensor>({{"w", w}}, {{"x", x}});
  Tape tape;
  const Var p = tape.parameter(w);
  tape.backward(linear(Var(x), p), normals(dice, {8, 4}));
  CHECK(p.grad());
  CHECK(settings == 0);
  enlarge_memory_pool();
  CHECK(settings > 0);
}
