// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/recipe/recipe.h"

#include <doctest/doctest.h>

#include "tests/recipe/recipe_text.h"
#include "tests/support/bad_input.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

TEST_CASE("invalid sparsity entries are rejected") {
  CHECK(entry_error(R"("mask": "fixed")") ==
        R"(/sparsity/0: missing key 'sparsifier' (add "sparsifier": "magnitude:sparsity=0.9"))");
  CHECK(entry_error(R"("sparsifier": "magnitude:sparsity=1.4")") ==
        "/sparsity/0/sparsifier: 'magnitude:sparsity=1.4': sparsity must be in [0, 1], got 1.4");
  CHECK(entry_error(R"("sparsifier": "magnitude:sparsity=nan")")
            .starts_with("/sparsity/0/sparsifier: "));
  CHECK(entry_error(R"("sparsifier": "magnitud:sparsity=0.5")")
            .starts_with("/sparsity/0/sparsifier: unknown sparsifier 'magnitud', did you mean "
                         "'magnitude'? (expected one of "));
  CHECK(entry_error(R"("sparsifier": "nmg:n=1,m=4,g=4,sparsity=0.8")") ==
        "/sparsity/0/sparsifier: sparsity 0.8 contradicts the sparsity of nmg:n=1,m=4,g=4, 0.75 "
        "(omit the key)");
  CHECK(entry_of(R"("sparsifier": "nmg:n=1,m=4,g=4,sparsity=0.75")").sparsifier.str() ==
        "nmg:n=1,m=4,g=4");
  CHECK(entry_error(R"("sparsifier": "magnitude:sparsity=0.5", "layout": "cs")")
            .starts_with("/sparsity/0/layout: unknown layout 'cs', did you mean 'csc'?"));
  CHECK(entry_error(R"("sparsifier": "magnitude:sparsity=0.75", "save": "nmg:n=1,m=4,g=4")") ==
        "/sparsity/0/save: layout nmg:n=1,m=4,g=4 cannot hold every pattern of "
        "magnitude:sparsity=0.75");
  CHECK(entry_error(R"("sparsifier": "magnitude:sparsity=0.5", "mask": "refreshed")") ==
        R"(/sparsity/0/mask: expected "fixed" or {"refresh": steps between new masks})");
  CHECK(entry_error(R"("sparsifier": "magnitude:sparsity=0.5", "mask": {"refresh": 0})") ==
        "/sparsity/0/mask/refresh: expected a value >= 1, got 0");
  CHECK(entry_error(R"("sparsifier": "movement:sparsity=0.5")") ==
        "/sparsity/0/sparsifier: movement needs gradients, which are missing at step 0 (set "
        "schedule/begin > 0)");
}

TEST_CASE("invalid schedules of a sparsity entry are rejected") {
  const auto of = [](const std::string& schedule, const Overrides& set = {}) {
    return entry_error(R"("sparsifier": "magnitude:sparsity=0.5", "schedule": {)" + schedule + "}",
                       set);
  };
  CHECK(of(R"("kind": "linear", "stages": 4, "to": 1.4)") ==
        "/sparsity/0/schedule/to: expected a value in [0, 1], got 1.4");
  CHECK(of(R"("kind": "linear", "stages": 4, "to": 0.4)") ==
        "/sparsity/0/schedule/to: 0.4 contradicts the sparsifier's sparsity 0.5 (omit the key)");
  CHECK(of(R"("kind": "linear", "stages": 4, "from": 0.6)") ==
        "/sparsity/0/schedule/from: 0.6 is above the final sparsity 0.5");
  CHECK(of(R"("kind": "linear")") ==
        R"(/sparsity/0/schedule: missing key 'stages' (add "stages": 1))");
  CHECK(of(R"("kind": "iterative", "step": 0.1)") ==
        R"(/sparsity/0/schedule: missing key 'from' (add "from": 0.5))");
  CHECK(of(R"("kind": "iterative", "from": 0.1)") ==
        R"(/sparsity/0/schedule: missing key 'step' (add "step": 0.1))");
  CHECK(of(R"("kind": "layerwise", "end": 500)") == of(R"("kind": "layer-wise", "end": 500)"));
  CHECK(
      of(R"("kind": "layer-wize")") ==
      "/sparsity/0/schedule/kind: unknown value 'layer-wize', did you mean 'layer-wise'? (expected "
      "one of one-shot, iterative, layer-wise, linear, cubic, exponential)");
  CHECK(of(R"("kind": "one-shot", "end": 5)")
            .starts_with("/sparsity/0/schedule/end: key belongs to linear, cubic, exponential"));
  CHECK(of(R"("kind": "layer-wise", "begin": 300, "end": 200)") ==
        "/sparsity/0/schedule/end: end 200 must be after schedule/begin 300");
  CHECK(
      of(R"("kind": "layer-wise", "end": 500)") ==
      "/sparsity/0/schedule/end: step 500 is after the last of 400 steps (the key scale multiplies "
      "all steps)");
  CHECK(of(R"("kind": "one-shot", "begin": 400)") ==
        "/sparsity/0/schedule/begin: step 400 is after the last of 400 steps (the key scale "
        "multiplies "
        "all steps)");
  CHECK(of(R"("kind": "linear", "stages": 30, "end": 20)") ==
        "/sparsity/0/schedule: 30 stages do not fit into 20 steps (the key scale multiplies all "
        "steps)");
  CHECK(of(R"("kind": "iterative", "sparsifiers": [])") ==
        "/sparsity/0/schedule/sparsifiers: expected a non-empty value");
  CHECK(of(R"("kind": "iterative", "sparsifiers": ["nm:n=2,m=4"])") ==
        "/sparsity/0/sparsifier: magnitude:sparsity=0.5 differs from the last sparsifier of the "
        "schedule, nm:n=2,m=4");
  CHECK(entry_error(R"("sparsifier": "nmg:n=1,m=4,g=4",
                       "schedule": {"kind": "cubic", "stages": 3})")
            .starts_with("/sparsity/0/schedule/kind: nmg:n=1,m=4,g=4 has a fixed sparsity"));
  CHECK(entry_error(R"("schedule": {"kind": "iterative", "begin": 5, "sparsifiers":
                         ["movement:sparsity=0.2", "gradient:sparsity=0.5"]})") ==
        "/sparsity/0/schedule/sparsifiers: sparsifiers with additive scores and sparsifiers with "
        "the last gradient exclude each other");
}

TEST_CASE("invalid distillation, mask and calibration settings are rejected") {
  CHECK(error(whole, {"distillation.logits=0", "distillation.hidden=0"}) ==
        "/distillation: logits or hidden must be > 0");
  CHECK(has(error(whole, {"distillation.hidden=0"}), "states need hidden > 0"));
  CHECK(has(error(whole, {"sparsity=[]"}), "/rate/rewind: rewind needs sparsity with stages"));
  CHECK(entry_error(R"("sparsifier": "2:4", "mask": {"kind": "regrow", "refresh": 5})") ==
        "/sparsity/0/mask/kind: regrow needs the sparsifier magnitude, got nm:n=2,m=4 (use refresh "
        "or straight-through)");
  CHECK(entry_error(R"("sparsifier": "relu", "calibration": {"method": "admm"})") ==
        "/sparsity/0/calibration: calibration needs a sparsifier that ranks magnitudes, got relu");
  CHECK(has(entry_error(R"("sparsifier": "2:4", "calibration": {"method": "magnitude"})"),
            "/sparsity/0/calibration/method: magnitude without reconstruct needs no calibration"));
  CHECK(has(entry_error(R"("sparsifier": "2:4", "calibration": {"method": "ria", "scope": "row"})"),
            "/sparsity/0/calibration/scope: scope row needs the sparsifier magnitude"));
  CHECK(entry_error(R"("sparsifier": "2:4", "calibration": {"method": "ria", "damping": 0.1})") ==
        "/sparsity/0/calibration/damping: damping needs the method sparsegpt or admm, or "
        "reconstruct");
  CHECK(entry_error(R"("sparsifier": "2:4", "calibration": {"method": "ria", "damping": 0.1,
                       "reconstruct": true})")
            .empty());
  CHECK(has(entry_error(R"("sparsifier": "2:4", "calibration": {"method": "admm"},
                           "mask": {"kind": "straight-through"})"),
            "exclude each other"));
  CHECK(has(entry_error(R"("sparsifier": "movement:sparsity=0.5", "schedule": {"begin": 5},
                           "mask": {"kind": "straight-through"})"),
            "straight-through needs a sparsifier without scores"));
}

TEST_CASE("learned scores are parsed, and invalid settings of them are rejected") {
  const SparsityRecipe s = entry_of(R"("sparsifier": "l0", "save": "csr", "scores":
      {"rate": 0.1, "penalty": 1e-3, "warmup": 10, "initial": -1, "end": 300})");
  REQUIRE(s.scores);
  CHECK(s.scores->rate == 0.1);
  CHECK(s.scores->penalty == 1e-3);
  CHECK(s.scores->warmup == 10);
  CHECK(s.scores->initial == -1);
  CHECK(s.scores->end == 300);
  const SparsityRecipe open =
      entry_of(R"("sparsifier": "l0", "scores": {"penalty": 1e-3}, "save": "csr")");
  CHECK(open.scores->initial == 2);
  CHECK(open.scores->end == 400);
  CHECK(entry_error(R"("sparsifier": "l0")") ==
        "/sparsity/0/sparsifier: l0 needs learned scores (add the key scores)");
  CHECK(entry_error(R"("sparsifier": "l0", "scores": {})") ==
        "/sparsity/0/scores: l0 needs a penalty > 0");
  CHECK(entry_error(R"("sparsifier": "movement:sparsity=0.5", "schedule": {"begin": 5},
                       "scores": {"penalty": 1})") ==
        "/sparsity/0/scores/penalty: movement:sparsity=0.5 has no penalty");
  CHECK(entry_error(R"("sparsifier": "2:4", "scores": {})") ==
        "/sparsity/0/scores: nm has no learned scores");
  CHECK(entry_error(R"("sparsifier": "l0", "scores": {"penalty": 1, "end": 401})") ==
        "/sparsity/0/scores/end: step 401 is after the last of 400 steps (the key scale multiplies "
        "all "
        "steps)");
  CHECK(entry_error(R"("sparsifier": "l0", "scores": {"penalty": 1, "end": 4},
                       "schedule": {"begin": 5})") ==
        "/sparsity/0/scores/end: end 4 must be after schedule/begin 5");
  CHECK(has(entry_error(R"("sparsifier": "l0", "scores": {"penalty": 1}, "mask": {"refresh": 5})"),
            "/sparsity/0/mask: mask and scores exclude each other"));
  CHECK(entry_error(R"("sparsifier": "l0", "scores": {"penalty": 1},
                       "calibration": {"method": "admm"})") ==
        "/sparsity/0/calibration: calibration and scores exclude each other");
  CHECK(entry_error(R"("sparsifier": "l0", "scores": {"penalty": 1})", {"ema=0.9"}) ==
        "--set: /ema: ema and learned scores exclude each other");
}

TEST_CASE("LoRA rejects pruning other than one-shot before the first step") {
  const std::string one_shot =
      "lora needs weights that are pruned one-shot before the first step, ";
  for (const char* changes : {R"("mask": {"refresh": 5})", R"("schedule": {"begin": 5})",
                              R"("schedule": {"kind": "cubic", "stages": 4})"})
    CHECK(has(entry_error(std::string(R"("sparsifier": "magnitude:sparsity=0.5", )") + changes,
                          {R"(lora={"target":"layers.*.weight"})"}),
              one_shot));
}

TEST_CASE("invalid formats of intermediates are rejected") {
  const auto refused = [](const std::string& entry) {
    return error(with(R"("formats": [{"of": "intermediate", "target": "x")" + entry + "}]"));
  };
  CHECK(refused("") == "/formats/0: format without a sparsifier or layout has no effect");
  CHECK(refused(R"(, "layout": "crs")").starts_with("/formats/0/layout: "));
  CHECK(refused(R"(, "layout": "nm:n=2,m=4")") ==
        "/formats/0/layout: layout nm:n=2,m=4 cannot hold every pattern of keep-all");
  CHECK(refused(R"(, "temporary": "nm:n=2,m=4")") ==
        "/formats/0/temporary: layout nm:n=2,m=4 cannot hold every pattern of keep-all");
  CHECK(refused(R"(, "external": "magnitude:sparsity=0.5", "temporary": "csr",
                     "layout": "nm:n=2,m=4")") ==
        "/formats/0/layout: layout nm:n=2,m=4 cannot hold every pattern of magnitude:sparsity=0.5");
  CHECK(refused(R"(, "inline": "nm:n=2,m=4", "temporary": "nm:n=2,m=4",
                     "external": "magnitude:sparsity=0.5")")
            .empty());
  CHECK(refused(R"(, "external": "nm:n=2,m=4", "layout": "nm:n=2,m=4")").empty());
  CHECK(refused(R"(, "inline": "treshold:at=1")").starts_with("/formats/0/inline: "));
  CHECK(refused(R"(, "external": "movement:sparsity=0.5")") ==
        "/formats/0/external: movement needs scores, which intermediates do not have");
  CHECK(refused(R"(, "external": "resparsify")") ==
        "/formats/0/external: resparsify selects nothing on its own (expected a sparsifier such as "
        "magnitude)");
  CHECK(refused(R"(, "inline": "same-pattern")") ==
        "/formats/0/inline: same-pattern needs the positions of a weight, which intermediates do "
        "not have");
  CHECK(refused(R"(, "layout": "csr", "begin": 5, "end": 5)") ==
        "/formats/0/end: end 5 must be after begin 5");
  CHECK(refused(R"(, "layout": "csr", "end": 401)") ==
        "/formats/0/end: step 401 is after the last of 400 steps (the key scale multiplies all "
        "steps)");
  CHECK(refused(R"(, "layout": "csr", "begin": 400)") ==
        "/formats/0/begin: step 400 is after the last of 400 steps (the key scale multiplies all "
        "steps)");
}

TEST_CASE("gradient compression rejects unsupported sparsifiers and bfloat16 transport") {
  const auto error_with = [](const std::string& exchange) {
    return error_of([&] { parse(with(R"("exchange": {)" + exchange + "}")); });
  };
  const auto refused = [&](const std::string& exchange) {
    const std::string e = error_with(exchange);
    return e.substr(std::min(e.size(), e.find("/exchange")));
  };
  CHECK(parse(with("")).exchange.sparsifier == Spec("keep-all"));
  CHECK(parse(with("")).exchange.error_feedback);
  CHECK(parse(with(R"("exchange": {"sparsifier": "2:4"})")).exchange.sparsifier ==
        Spec::parse("nm:n=2,m=4"));
  CHECK(held(134, refused(R"("sparsifier": "movement:sparsity=0.9")") ==
                      "/exchange/sparsifier: movement needs scores, which gradients do not have"));
  CHECK(held(134, refused(R"("sparsifier": "same-pattern")") ==
                      "/exchange/sparsifier: same-pattern needs the positions of a weight, which "
                      "gradients do not have"));
  CHECK(refused(R"("sparsifier": "resparsify")") ==
        "/exchange/sparsifier: resparsify selects nothing on its own (expected a sparsifier such "
        "as magnitude)");
  CHECK(refused(R"("sparsifier": "magnitude")") != "");
  CHECK(held(134, refused(R"("sparsifier": "magnitude:sparsity=0.9", "transport": "bfloat16")") ==
                      "/exchange/transport: compressed gradients are sent as float32, got "
                      "bfloat16"));
  CHECK(held(134, refused(R"("error_feedback": false)") ==
                      "/exchange/error_feedback: needs a sparsifier"));
  CHECK(refused(R"("error_feedback": true)").empty());
}

TEST_CASE("scope global rejects unsupported sparsifiers and settings") {
  CHECK(entry_of(R"("sparsifier": "magnitude:sparsity=0.5", "scope": "global")").is_global());
  CHECK_FALSE(entry_of(R"("sparsifier": "nm:n=2,m=4", "scope": "local")").is_global());
  const auto of = [](const std::string& rest) {
    return entry_error(R"("scope": "global", )" + rest);
  };
  const std::string needs =
      "/sparsity/0/scope: scope global needs the sparsifier magnitude, block-magnitude, movement "
      "or gradient, got ";
  for (const char* by : {"nm:n=2,m=4", "nmg:n=1,m=4,g=4", "random:fraction=0.5"}) {
    const std::string name(by, std::string_view(by).find(':'));
    CHECK(held(140, of(fmt::format(R"("sparsifier": "{}")", by)) == needs + name));
  }
  CHECK(held(
      140,
      of(R"("schedule": {"kind": "iterative", "sparsifiers": ["nm:n=3,m=4", "nm:n=2,m=4"]})") ==
          needs + "nm"));
  const auto excludes = [&](const std::string& rest, const std::string& what) {
    return of(R"("sparsifier": "magnitude:sparsity=0.5", )" + rest) ==
           fmt::format("/sparsity/0/scope: scope global and {} exclude each other", what);
  };
  CHECK(held(140, excludes(R"("schedule": {"kind": "layer-wise"})", "schedule layer-wise")));
  CHECK(held(140, excludes(R"("calibration": {"method": "wanda"})", "calibration")));
  CHECK(held(140, of(R"("sparsifier": "l0", "scores": {"penalty": 1})") ==
                      "/sparsity/0/scope: scope global and scores exclude each other"));
  CHECK(held(140, of(R"("sparsifier": "gradient:sparsity=0.5", "schedule": {"begin": 1},
                        "mask": {"refresh": 5})") ==
                      "/sparsity/0/scope: scope global with the sparsifier gradient needs fixed "
                      "masks, got refresh"));
  CHECK(held(140, entry_error(R"("sparsifier": "magnitude:sparsity=0.5", "scope": "all")") ==
                      "/sparsity/0/scope: unknown value 'all' (expected one of local, global)"));
}
