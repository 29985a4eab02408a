// SPDX-License-Identifier: Apache-2.0
// Allocations of an optimizer step.
#include <doctest/doctest.h>

#include "libsten/training/optim/adamw.h"
#include "libsten/training/optim/sgd.h"
#include "tests/memory/counter.h"
#include "tests/support/parts.h"

using namespace sten;
using namespace sten::testing;

TEST_CASE("optimizer steps on sparse weights allocate sparse state once and nothing dense") {
  const Threads one(1);
  Dice dice(1);
  const Shape shape{512, 1024};
  const Dense x = normals(dice, shape);
  const Mask tenth = random_mask(dice, shape, 0.1);
  const std::int64_t dense_bytes = 4 * x.size(), few = 2048;
  for (const char* name : {"nmg:n=1,m=10,g=4", "nm:n=1,m=10", "csr", "csc", "coo", "bitmask"}) {
    CAPTURE(std::string(name));
    const Spec spec = Spec::parse(name);
    Parameter p(spec.is("nmg") || spec.is("nm")
                    ? registry().prune(x, spec.is("nmg") ? spec : Spec::parse("nm:n=1,m=10"), spec)
                    : registry().pack(x, tenth, spec));
    const std::int64_t values = p.value.values()->size() * 4;
    REQUIRE(values < dense_bytes / 8);
    const Tensor gradient = p.value.with_values(Values(*p.value.values()));
    const AdamW adam;
    const Sgd sgd({.rate = 0.1, .momentum = 0.9});
    // The weight's values, which the gradient shares, are copied once.
    CHECK(bytes_of([&] { adam.step(p, gradient); }) < 3 * values + few);
    CHECK(bytes_of([&] { adam.step(p, gradient); }) < few);
    CHECK(bytes_of([&] { sgd.step(p, gradient); }) < values + few);
    CHECK(bytes_of([&] { sgd.step(p, gradient); }) < few);
  }
}

TEST_CASE("an SGD step on a masked weight allocates no masked gradient") {
  const Threads one(1);
  Dice dice(2);
  const Shape shape{512, 1024};
  const Dense x = normals(dice, shape), gradient = normals(dice, shape);
  Parameter p(packed(x, random_mask(dice, shape, 0.5), "masked"));
  const Sgd sgd({.rate = 0.1, .momentum = 0.9});
  sgd.step(p, gradient);
  CHECK(bytes_of([&] { sgd.step(p, gradient); }) < 2048);
}
