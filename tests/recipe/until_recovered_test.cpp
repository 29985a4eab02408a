// SPDX-License-Identifier: Apache-2.0
// Recipes that prune until recovery.
#include <doctest/doctest.h>

#include "libsten/training/recipe/sparsity_schedule.h"
#include "tests/support/bad_input.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

std::string until_recipe(const std::string& schedule, const std::string& entry = "",
                         const std::string& rest = "") {
  return R"({"schema": 1, "model": {"kind": "mlp", "sizes": [64, 16, 10]}, "steps": 400,
    "data": {"kind": "csv", "file": "d.csv"})" +
         rest + R"(, "sparsity": [{"target": "*.weight",
    "sparsifier": "magnitude:sparsity=0.5", "schedule": {)" +
         schedule + "}" + entry + "}]}";
}

SparsityRecipe until_entry(const std::string& schedule) {
  return parse_recipe(until_recipe(schedule), "/r/r.json").sparsity.at(0);
}

std::string until_error(const std::string& json) {
  const std::string what = error_of([&] { parse_recipe(json, "/r/r.json"); });
  const std::string file = "/r/r.json: /";
  return what.starts_with(file) ? what.substr(file.size()) : what;
}

const std::string until_recovered = R"("kind": "layer-wise", "until": "recovered")";

}  // namespace

TEST_CASE("pruning until recovery has default values and round-trips through JSON") {
  const ScheduleRecipe by = until_entry(until_recovered).schedule;
  CHECK(by.prunes_until_recovered());
  CHECK(by.recovery.tolerance == 0.02);
  CHECK(by.recovery.rounds == 5);
  CHECK(by.recovery.patience == 2);
  const Recipe r =
      parse_recipe(until_recipe(until_recovered +
                                R"(, "tolerance": 0.1, "rounds": 7, "patience": 3, "begin": 50)"),
                   "/r/r.json");
  CHECK(r.sparsity[0].schedule.recovery.rounds == 7);
  CHECK(to_json(parse_recipe(to_json(r), "/r/r.json")) == to_json(r));
  CHECK(to_json(r).find("\"tolerance\": 0.1") != std::string::npos);
  const Recipe planned = parse_recipe(until_recipe(R"("kind": "layer-wise")"), "/r/r.json");
  CHECK(to_json(planned).find("tolerance") == std::string::npos);
}

TEST_CASE("rounds of all weights share the schedule's steps, and too few steps are rejected") {
  const SparsityRecipe s = until_entry(until_recovered + R"(, "begin": 50, "end": 150)");
  CHECK(steps_per_round(s.schedule, 3) == 6);
  CHECK(steps_per_round(s.schedule, 20) == 1);
  CHECK(error_of([&] { sparsity_stages(s, 0, 21, 400); }) ==
        "21 weights of 5 rounds each do not fit into 100 steps");
  CHECK(sparsity_stages(s, 2, 3, 400).front().step == undecided_step);
}

TEST_CASE("pruning until recovery rejects invalid values") {
  const std::string at = "sparsity/0/schedule/";
  CHECK(held(133, until_error(until_recipe(R"("kind": "layer-wise", "until": "recoverd")")) ==
                      at + "until: unknown value 'recoverd', did you mean 'recovered'? (expected "
                           "one of recovered)"));
  for (const char* key : {"tolerance", "rounds", "patience"})
    CHECK(
        held(133, until_error(until_recipe(fmt::format(R"("kind": "layer-wise", "{}": 1)", key))) ==
                      fmt::format("{}{}: {} needs the key until (add \"until\": \"recovered\")", at,
                                  key, key)));
  CHECK(held(133, until_error(until_recipe(R"("kind": "one-shot", "until": "recovered")"))
                      .starts_with(at + "until: key belongs to layer-wise, not to one-shot")));
  CHECK(held(133, until_error(until_recipe(until_recovered + R"(, "tolerance": -0.1)")) ==
                      at + "tolerance: expected a value >= 0, got -0.1"));
  CHECK(held(133, until_error(until_recipe(until_recovered + R"(, "rounds": 0)")) ==
                      at + "rounds: expected a value >= 1, got 0"));
  CHECK(held(133, until_error(until_recipe(until_recovered + R"(, "patience": 0)")) ==
                      at + "patience: expected a value >= 1, got 0"));
  CHECK(held(133,
             until_error(until_recipe(until_recovered + R"(, "end": 4)"))
                 .starts_with("sparsity/0/schedule: 1 weights of 5 rounds each do not fit into 4 "
                              "steps")));
}

TEST_CASE("pruning until recovery rejects incompatible recipe settings") {
  const std::string at = "sparsity/0/schedule/until: ";
  const std::string of_gradient =
      R"({"schema": 1, "model": {"kind": "mlp", "sizes": [64, 16, 10]}, "steps": 400,
    "data": {"kind": "csv", "file": "d.csv"}, "sparsity": [{"target": "*.weight",
    "sparsifier": "gradient:sparsity=0.5", "schedule": {"begin": 1, )" +
      until_recovered + "}}]}";
  CHECK(held(133,
             until_error(of_gradient) == at + "until needs a sparsifier that does not rank by the "
                                              "last gradient, got gradient"));
  CHECK(held(133, until_error(until_recipe(until_recovered, "",
                                           R"(, "rate": {"kind": "cosine", "rewind": true})")) ==
                      "rate/rewind: rewind needs stages at planned steps, without schedule/until"));
  std::string without = until_recipe(until_recovered);
  without.replace(without.find(R"("file")"), 0, R"("validation": 0, )");
  CHECK(held(133, until_error(without) == at + "until needs data/validation > 0"));
  std::string learned = until_recipe(until_recovered, R"(, "scores": {"penalty": 1})");
  learned.replace(learned.find("magnitude:sparsity=0.5"), 22, "l0");
  CHECK(held(133, until_error(learned) ==
                      "sparsity/0/scores: scores and schedule/until exclude each other"));
}
