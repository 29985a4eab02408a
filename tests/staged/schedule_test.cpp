// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/staged/schedule.h"

#include <doctest/doctest.h>

#include "libsten/core/base/error.h"
#include "tests/support/bad_input.h"

using namespace sten;
using namespace sten::testing;

namespace {

std::vector<double> sparsities(const std::string& text, std::optional<double> sparsity = {}) {
  return parse_schedule(text, sparsity, {}).sparsity;
}

void check_sparsities(const std::string& text, const std::vector<double>& expected) {
  CAPTURE(text);
  const auto got = sparsities(text);
  REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == doctest::Approx(expected[i]));
}

bool check_refused(const std::string& text, const std::string& why,
                   std::optional<double> sparsity = {},
                   const std::vector<std::string>& structures = {}) {
  CAPTURE(text);
  try {
    parse_schedule(text, sparsity, structures);
    FAIL_CHECK("no error");
    return false;
  } catch (const Error& e) {
    const bool says_why = std::string(e.what()).find(why) != std::string::npos;
    CHECK(e.fault() == Fault::usage);
    CHECK_MESSAGE(says_why, e.what());
    return says_why;
  }
}

}  // namespace

TEST_CASE("iterative schedules rise by the step and end at `to`") {
  check_sparsities("iterative:from=0.1,to=0.5,step=0.1", {0.1, 0.2, 0.3, 0.4, 0.5});
  check_sparsities("iterative:from=0.1,to=0.45,step=0.2", {0.1, 0.3, 0.45});
  check_sparsities("iterative:from=0.5,to=0.5,step=0.1", {0.5});
  check_sparsities("iterative:from=0,to=1,step=1", {0, 1});
  CHECK(sparsities("iterative:from=0.1,to=0.9,step=0.1").back() == 0.9);
}

TEST_CASE("gradual schedules follow their formulas") {
  check_sparsities("linear:from=0,to=0.8,stages=4", {0.2, 0.4, 0.6, 0.8});
  check_sparsities("cubic:from=0,to=0.8,stages=2", {0.7, 0.8});
  check_sparsities("exponential:from=0,to=0.75,stages=2", {0.5, 0.75});
  check_sparsities("exponential:from=0.5,to=0.875,stages=2", {0.75, 0.875});
  CHECK(sparsities("cubic:from=0,to=0.9,stages=7").back() == 0.9);
}

TEST_CASE("--sparsity sets the end of a schedule, and a contradicting end is rejected") {
  CHECK(sparsities("iterative:from=0.1,step=0.1", 0.3).size() == 3);
  CHECK(sparsities("iterative:from=0.1,step=0.1,to=0.3", 0.3).back() == 0.3);
  check_refused("iterative:from=0.1,step=0.1,to=0.3", "contradicts --sparsity 0.4", 0.4);
  check_refused("iterative:from=0.1,step=0.1", "missing key to");
}

TEST_CASE("invalid schedules are rejected with a hint") {
  CHECK(held(57, check_refused("iterative:from=0.5,to=0.1,step=0.1", "is below the ")));
  check_refused("iterative:from=0.1,to=1.4,step=0.1", "to must be in [0, 1], got 1.4");
  check_refused("iterative:from=0.1,to=0.5,step=0", "step: expected a value in (0, 1], got 0");
  check_refused("iterative:from=0.1,to=0.5,step=1e-9", "more than 10000 stages");
  check_refused("iterative:from=0.1,to=0.5,stpe=0.1", "step");
  check_refused("linear:from=0.1,to=0.5,stages=0",
                "stages: expected an integer in [1, 10000], got 0");
  check_refused("exponential:from=0.1,to=1,stages=3", "does not reach 1");
  check_refused("cubci:from=0.1,to=1,stages=3", "did you mean 'cubic'");
  check_refused("layerwise:from=0", "from");
}

TEST_CASE("several structures become the stages of an iterative schedule") {
  const auto s = parse_schedule("iterative", {}, {"nm:n=3,m=4", "nm:n=2,m=4"});
  CHECK(s.stages() == 2);
  check_refused("linear:from=0,to=0.5,stages=2", "several --structure", {}, {"a", "b"});
  check_refused("layerwise", "one --structure", {}, {"a", "b"});
  CHECK(parse_schedule("layer-wise", 0.5, {}).layerwise);
  CHECK(parse_schedule("layerwise", 0.5, {}).spec.str() == "layer-wise");
}
