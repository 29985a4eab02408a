// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/recipe/sparsity_schedule.h"

#include <doctest/doctest.h>

#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

SparsityRecipe entry(const std::string& kind, Index begin, Index end) {
  SparsityRecipe s;
  s.sparsifier = Spec::parse("magnitude:sparsity=0.9");
  s.schedule.kind = kind;
  s.schedule.begin = begin;
  s.schedule.end = end;
  return s;
}

// "0 magnitude:sparsity=0.9; ..."
std::string text(const SparsityRecipe& s, Index k = 0, Index n = 4, Index steps = 400) {
  std::string all;
  for (const SparsityStage& stage : sparsity_stages(s, k, n, steps))
    all += fmt::format("{}{} {}", all.empty() ? "" : "; ", stage.step, stage.by.str());
  return all;
}

}  // namespace

TEST_CASE("a one-shot schedule is one stage at its begin step") {
  CHECK(text(entry("one-shot", 7, 0)) == "7 magnitude:sparsity=0.9");
}

TEST_CASE("iterative stages are spread evenly, and the last has the sparsifier's own sparsity") {
  SparsityRecipe s = entry("iterative", 100, 400);
  s.schedule.from = 0.1;
  s.schedule.step = 0.4;
  CHECK(text(s) ==
        "100 magnitude:sparsity=0.1; 200 magnitude:sparsity=0.5; "
        "300 magnitude:sparsity=0.9");
  // Rounding of 0.1 + 2 * 0.1 is not shown.
  s.schedule.step = 0.1;
  CHECK(text(s).find(" magnitude:sparsity=0.3;") != std::string::npos);
  CHECK(sparsity_stages(s, 0, 1, 400).size() == 9);
}

TEST_CASE("start steps of stages round down if the steps do not divide evenly") {
  SparsityRecipe s = entry("iterative", 0, 10);
  s.schedule.sparsifiers = {Spec::parse("nmg:n=3,m=4,g=4"), Spec::parse("nmg:n=2,m=4,g=4"),
                            Spec::parse("nmg:n=1,m=4,g=4")};
  CHECK(text(s) == "0 nmg:n=3,m=4,g=4; 3 nmg:n=2,m=4,g=4; 6 nmg:n=1,m=4,g=4");
}

TEST_CASE("a layer-wise schedule has one stage per weight, in order") {
  const SparsityRecipe s = entry("layer-wise", 0, 100);
  CHECK(text(s, 0, 3) == "0 magnitude:sparsity=0.9");
  CHECK(text(s, 1, 3) == "33 magnitude:sparsity=0.9");
  CHECK(text(s, 2, 3) == "66 magnitude:sparsity=0.9");
  CHECK(error_of([] { text(entry("layer-wise", 0, 2), 0, 3); }) ==
        "3 stages do not fit into 2 steps");
}

TEST_CASE("schedules that exceed the steps of the run are rejected") {
  CHECK(text(entry("layer-wise", 0, 0), 1, 2, 10) == "5 magnitude:sparsity=0.9");
  CHECK(error_of([] { text(entry("one-shot", 10, 0), 0, 1, 10); }) ==
        "steps 10 to 10 are not within the 10 steps of the run");
  CHECK(error_of([] { text(entry("layer-wise", 0, 11), 0, 1, 10); }) ==
        "steps 0 to 11 are not within the 10 steps of the run");
}

TEST_CASE("gradual and iterative schedules follow their formulas") {
  SparsityRecipe s = entry("cubic", 0, 2);
  s.schedule.stages = 2;
  // 0.9 - 0.9 / 8
  CHECK(text(s) == "0 magnitude:sparsity=0.7875; 1 magnitude:sparsity=0.9");
  const auto check = [](const std::vector<double>& got, const std::vector<double>& expected) {
    REQUIRE(got.size() == expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == doctest::Approx(expected[i]));
  };
  check(gradual_sparsities("linear", 0.2, 0.8, 3), {0.4, 0.6, 0.8});
  check(gradual_sparsities("cubic", 0, 0.8, 2), {0.7, 0.8});
  // Each stage keeps half of the previous stage's values.
  check(gradual_sparsities("exponential", 0, 0.875, 3), {0.5, 0.75, 0.875});
  check(iterative_sparsities(0.1, 0.45, 0.2), {0.1, 0.3, 0.45});
}
