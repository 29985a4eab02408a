// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/recipe/recipe.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/bad_input.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

const std::string model = R"("model": {"kind": "mlp", "sizes": [64, 16, 10]})";
const std::string data = R"("data": {"kind": "csv", "file": "d.csv"})";

// A minimal recipe of 400 steps with additional keys.
std::string with(const std::string& rest) {
  return R"({"schema": 1, )" + model + ", " + data + R"(, "steps": 400)" +
         (rest.empty() ? "" : ", ") + rest + "}";
}
std::string with_entry(const std::string& entry) {
  return with(R"("sparsity": [{"target": "*.weight", )" + entry + "}]");
}

Recipe parse(const std::string& json, const Overrides& set = {}) {
  return parse_recipe(json, "/r/digits.json", set);
}
std::string error(const std::string& json, const Overrides& set = {}) {
  const std::string what = error_of([&] { parse(json, set); });
  // The prefix of all messages.
  const std::string file = "/r/digits.json: ";
  return what.starts_with(file) ? what.substr(file.size()) : what;
}
std::string entry_error(const std::string& entry, const Overrides& set = {}) {
  return error(with_entry(entry), set);
}
SparsityRecipe entry_of(const std::string& entry, const Overrides& set = {}) {
  return parse(with_entry(entry), set).sparsity.at(0);
}

// All that a recipe can say.
const char* whole = R"({
  "$schema": "schema.json", "schema": 1, "name": "all of it",
  "model": {"kind": "bert", "config": "m/config.json", "dropout": 0.1,
            "weights": "/abs/model.safetensors"},
  "data": {"kind": "masked-text", "text": "../t.txt", "vocabulary": "m/vocab.json", "train": 0.9,
           "validation": 0.05, "window": 64, "predicted": 0.2, "masked": 0.7, "random": 0.2},
  "loss": "cross-entropy", "label_smoothing": 0.1,
  "distillation": {"teacher": "t.safetensors", "logits": 0.9, "temperature": 4, "hidden": 0.5,
                   "states": "*.LayerNorm"},
  "optimizer": {"kind": "adamw", "rate": 5e-4, "beta1": 0.8, "beta2": 0.98, "eps": 1e-7,
                "weight_decay": 0.1},
  "rate": {"kind": "piecewise", "warmup": 50, "points": [[100, 0.5], [300, 0.05]],
           "rewind": true},
  "steps": 400, "batch": 64, "accumulate": 4, "clip": 1, "ema": 0.99, "seed": 9223372036854775807,
  "products": "own", "device_products": "tf32",
  "sparsity": [
    {"target": "a", "sparsifier": "nmg:n=1,m=4,g=4,fit=greedy", "save": "nmg"},
    {"target": "b*", "sparsifier": "magnitude:sparsity=0.9", "layout": "csr", "save": "bitmask",
     "schedule": {"kind": "cubic", "from": 0.5, "stages": 10, "begin": 10, "end": 300},
     "mask": {"refresh": 10, "end": 350}},
    {"target": "c", "schedule": {"kind": "iterative", "begin": 3,
                                 "sparsifiers": ["nm:n=3,m=4", "nm:n=2,m=4"]}, "save": "nm"},
    {"target": "d", "sparsifier": "movement", "schedule":
      {"kind": "iterative", "from": 0.1, "to": 0.5, "step": 0.1, "begin": 100}},
    {"target": "f", "sparsifier": "magnitude:sparsity=0.9",
     "mask": {"kind": "regrow", "refresh": 10, "share": 0.2}},
    {"target": "g", "sparsifier": "nm:n=2,m=4",
     "mask": {"kind": "straight-through", "decay": 1e-3}},
    {"target": "h", "sparsifier": "nm:n=2,m=4",
     "calibration": {"method": "wanda", "rows": 9, "reconstruct": true, "damping": 0.1}},
    {"target": "e", "sparsifier": "magnitude:sparsity=0.5",
     "schedule": {"kind": "layer-wise", "end": 200}, "mask": "fixed"}],
  "formats": [
    {"of": "intermediate", "target": "*.gelu", "inline": "threshold:at=0.1", "temporary": "csr",
     "external": "magnitude:sparsity=0.9", "layout": "coo", "begin": 5, "end": 300},
    {"of": "weight-gradient", "target": "a", "temporary": "masked"}],
  "exchange": {"transport": "float32", "overlap": "always", "sparsifier": "magnitude:sparsity=0.99",
               "error_feedback": false},
  "evaluation": {"every": 100, "batch": 32, "keep_best": true, "test": false},
  "checkpoints": {"every": 50, "keep": 3}, "logging": {"every": 1}
})";

}  // namespace

TEST_CASE("short forms are those of their long names") {
  const auto same = [](const std::string& text, const std::string& sparsifier) {
    const SparsityRecipe s = entry_of(R"("sparsifier": ")" + text + R"(", "save": "dense")");
    CHECK(s.sparsifier.str() == sparsifier);
  };
  same("2:4", "nm:n=2,m=4");
  same("2:4@0", "nm:n=2,m=4,axis=0");
  same("1:4:4", "nmg:n=1,m=4,g=4");
  same("magnitude:sparsity=90%", "magnitude:sparsity=0.9");
  same("block:sparsity=0.5,h=4,w=4", "block-magnitude:sparsity=0.5,h=4,w=4");
  CHECK(entry_of(R"("sparsifier": "2:4", "save": "2:4")").save.str() == "nm:n=2,m=4");
}

TEST_CASE("a recipe that says little has the defaults") {
  const Recipe r = parse(with(""));
  CHECK(r.name == "digits");
  CHECK(r.model.sizes == std::vector<Index>{64, 16, 10});
  CHECK(r.model.activation == "relu");
  CHECK(r.data.file == "/r/d.csv");
  CHECK(r.data.label == "last");
  CHECK(r.optimizer.kind == "adamw");
  CHECK(r.optimizer.rate == 1e-3);
  CHECK(r.rate.kind == "constant");
  CHECK(r.steps == 400);
  CHECK(r.batch == 32);
  CHECK(r.device_products.empty());
  CHECK(r.sparsity.empty());
  CHECK(r.evaluation.test);
}

TEST_CASE("a directory as the config of a model is the config.json in it") {
  const TempDir dir;
  const Recipe r = parse_recipe(whole, "/r/digits.json", {"model.config=" + dir.path()});
  CHECK(r.model.config == dir.path() + "/config.json");
}

TEST_CASE("a text is one file or a list of files") {
  const auto texts = [](const std::string& text) {
    const Recipe r = parse_recipe(
        R"({"schema": 1, "steps": 1, "model": {"kind": "decoder", "config": "c.json"},
            "data": {"kind": "text", "vocabulary": "v", "text": )" +
            text + "}}",
        "/r/a.json");
    CHECK(to_json(parse_recipe(to_json(r), "/r/a.json")) == to_json(r));
    return r.data.text;
  };
  CHECK(texts(R"("a.txt")") == std::vector<std::string>{"/r/a.txt"});
  CHECK(texts(R"(["a.txt", "/b.jsonl"])") == std::vector<std::string>{"/r/a.txt", "/b.jsonl"});
}

TEST_CASE("everything that a recipe can say is read") {
  const Recipe r = parse(whole);
  CHECK(r.name == "all of it");
  CHECK(r.model.config == "/r/m/config.json");
  CHECK(r.model.weights == "/abs/model.safetensors");
  CHECK(r.data.text == std::vector<std::string>{"/t.txt"});
  CHECK(r.data.random == 0.2);
  CHECK(r.optimizer.beta2 == 0.98);
  CHECK(r.rate.points == std::vector<std::pair<Index, double>>{{100, 0.5}, {300, 0.05}});
  CHECK(r.seed == ~std::uint64_t{0} >> 1);
  CHECK(r.accumulate == 4);
  CHECK(r.products == "own");
  CHECK(r.device_products == "tf32");
  CHECK(r.evaluation.keep_best);
  CHECK_FALSE(r.evaluation.test);
  CHECK(r.checkpoint_every == 50);
  CHECK(r.keep_checkpoints == 3);
  CHECK(r.log_every == 1);
  REQUIRE(r.sparsity.size() == 8);
  CHECK(r.sparsity[0].save.str() == "nmg:n=1,m=4,g=4");
  CHECK(r.sparsity[0].schedule.kind == "one-shot");
  CHECK(r.sparsity[1].layout.str() == "csr");
  CHECK(r.sparsity[1].mask.refresh == 10);
  CHECK(r.sparsity[1].mask.end == 350);
  CHECK(r.sparsity[1].schedule.to == 0.9);
  CHECK(r.sparsity[2].sparsifier.str() == "nm:n=2,m=4");
  CHECK(r.sparsity[2].save.str() == "nm:n=2,m=4");
  CHECK(r.sparsity[2].schedule.end == 400);
  CHECK(r.sparsity[3].sparsifier.str() == "movement:sparsity=0.5");
  CHECK(r.sparsity[4].mask.share == 0.2);
  CHECK(r.sparsity[5].mask.decay == 1e-3);
  CHECK(r.sparsity[6].calibration->method == "wanda");
  CHECK(r.sparsity[6].calibration->rows == 9);
  CHECK(r.sparsity[6].calibration->reconstruct);
  CHECK(r.sparsity[6].calibration->damping == 0.1);
  CHECK(r.sparsity[6].calibration->scope == "local");
  CHECK(r.sparsity[7].schedule.end == 200);
  REQUIRE(r.formats.size() == 2);
  CHECK(r.formats[0].inline_by.str() == "threshold:at=0.1");
  CHECK(r.formats[0].external.str() == "magnitude:sparsity=0.9");
  CHECK(r.formats[0].layout.str() == "coo");
  CHECK(r.formats[0].begin == 5);
  CHECK(r.formats[0].end == 300);
  CHECK(r.formats[1].layout.str() == "masked");
  CHECK(r.formats[1].end == 400);
}

TEST_CASE("a recipe that was written and read is the same") {
  for (const std::string& json :
       {std::string(whole), with(""),
        with(R"("optimizer": {"kind": "sgd", "momentum": 0.9, "nesterov": true})"),
        with(R"("rate": {"kind": "step", "every": 10})")}) {
    const Recipe r = parse(json);
    const std::string written = to_json(r);
    CHECK(to_json(parse_recipe(written, "/elsewhere/other.json")) == written);
  }
  CHECK(parse(with(R"("optimizer": {"kind": "sgd"})")).optimizer.weight_decay == 0);
}

TEST_CASE("epochs leave ends open until the number of steps is known") {
  const Recipe r = parse(with_entry(R"("sparsifier": "magnitude:sparsity=0.5",
    "schedule": {"kind": "layer-wise"}, "mask": {"refresh": 5})"),
                         {"steps=null", "epochs=3"});
  CHECK(r.steps == 0);
  CHECK(r.epochs == 3);
  CHECK(to_json(parse_recipe(to_json(r), "/x/y.json")) == to_json(r));
  const Recipe known = in_steps(r, 90);
  CHECK(known.steps == 90);
  CHECK(known.epochs == 0);
  CHECK(known.sparsity[0].schedule.end == 90);
  CHECK(known.sparsity[0].mask.end == 90);
}

TEST_CASE("scale multiplies all numbers of steps") {
  const std::string json = with(R"("rate": {"kind": "piecewise", "warmup": 40,
    "points": [[100, 0.5], [102, 0.2], [300, 0.1]]},
    "evaluation": {"every": 50}, "checkpoints": {"every": 4}, "logging": {"every": 10},
    "formats": [{"of": "intermediate", "target": "*", "layout": "csr", "begin": 20, "end": 200}],
    "sparsity": [{"target": "*", "sparsifier": "magnitude:sparsity=0.5",
      "schedule": {"kind": "linear", "stages": 2, "begin": 100, "end": 300},
      "mask": {"refresh": 30, "end": 350}}])");
  const Recipe r = parse(json, {"scale=0.1"});
  CHECK(r.steps == 40);
  CHECK(r.rate.warmup == 4);
  CHECK(r.rate.points == std::vector<std::pair<Index, double>>{{10, 0.2}, {30, 0.1}});
  CHECK(r.sparsity[0].schedule.begin == 10);
  CHECK(r.sparsity[0].schedule.end == 30);
  CHECK(r.sparsity[0].mask.refresh == 3);
  CHECK(r.sparsity[0].mask.end == 35);
  CHECK(r.formats[0].begin == 2);
  CHECK(r.formats[0].end == 20);
  CHECK(r.evaluation.every == 5);
  CHECK(r.checkpoint_every == 1);  // 0 would disable checkpoints
  CHECK(r.log_every == 1);
  CHECK(to_json(parse_recipe(to_json(r), "/x/y.json")) == to_json(r));
  CHECK(to_json(parse(json, {"scale=1"})) == to_json(parse(json)));

  const Recipe epochs = in_steps(parse(json, {"steps=null", "epochs=2", "scale=0.1"}), 400);
  CHECK(epochs.steps == 40);
  CHECK(epochs.rate.warmup == 4);
  CHECK(error(json, {"scale=0"}) == "--set: /scale: expected a value in (0, 1000], got 0");
  CHECK(error(json, {"scale=0.001"}).starts_with("/scale: 0.001 times 400 steps gives 0 steps"));
}

TEST_CASE("all that does not fit into the steps is named at once") {
  const std::string json = with(R"("rate": {"kind": "cosine", "warmup": 40},
    "sparsity": [{"target": "*", "sparsifier": "magnitude:sparsity=0.5",
      "schedule": {"kind": "linear", "stages": 2, "begin": 100, "end": 300}}])");
  CHECK(
      error(json, {"steps=30"}) ==
      "/rate/warmup: 40 steps are more than the 30 steps of the run; /sparsity/0/schedule/begin: "
      "step 100 is after the "
      "last of 30 steps; /sparsity/0/schedule/end: step 300 is after the last of 30 steps (the key "
      "scale multiplies all steps)");
}

TEST_CASE("errors of a recipe name the file and the place") {
  CHECK(error_of([&] { parse_recipe("{", "digits.json"); }) ==
        "digits.json: not JSON at line 1, column 2");
  CHECK(error("{}") == R"(missing key 'schema' (add "schema": 1))");
  CHECK(error(R"({"schema": 2})") == "/schema: expected 1, got 2");
  CHECK(error(R"({"schema": 1})") == R"(missing key 'model' (add "model": {...}))");
  CHECK(error(with(R"("stpes": 3)")) == "/stpes: unknown key, did you mean 'steps'?");
  CHECK(
      error(with(""), {"model.kind=mpl"}) ==
      "--set: /model/kind: unknown value 'mpl', did you mean 'mlp'? (expected one of mlp, resnet, "
      "wide-resnet, bert, decoder, gpt, onnx, graph)");
  CHECK(
      error(with(""), {"model.config=c.json"}) ==
      "--set: /model/config: key belongs to bert, decoder, gpt, not to mlp (expected kind, sizes, "
      "activation, weights)");
  CHECK(error(with(""), {"model.sizes=null"}) ==
        R"(/model: missing key 'sizes' (add "sizes": [...]))");
  CHECK(error(with(""), {"model.sizes=[3]"})
            .starts_with("--set: /model/sizes: expected the size of the input"));
  std::string layers = "model.sizes=[3";
  for (int i = 0; i < 10000; ++i) layers += ",1";
  CHECK(error(with(""), {layers + "]"}) == "--set: /model/sizes: 10001 sizes are more than 10000");
  CHECK(error(with(""), {"model.sizes.1=0"}) ==
        "--set: /model/sizes/1: expected a value >= 1, got 0");
  CHECK(error(with(""), {"model.sizes.1=1.5"}) ==
        "--set: /model/sizes/1: expected an integer, got 1.5");
  CHECK(
      error(with(""), {"model.activation=relo"}) ==
      "--set: /model/activation: unknown value 'relo', did you mean 'relu'? (expected one of relu, "
      "gelu, tanh, sigmoid)");
  CHECK(error(with(""), {R"(model={"kind":"bert","config":"c"})"}) ==
        "/data/kind: csv does not fit the model bert (expected "
        "masked-text, labelled-text or labelled-words)");
  CHECK(error(with(""), {"data.train=0.9", "data.validation=0.2"}) ==
        "--set: /data/validation: train 0.9 and validation 0.2 must have a sum <= 1");
  CHECK(error(with(""), {"data.train=0"}) ==
        "--set: /data/train: expected a value in (0, 1], got 0");
  CHECK(error(with(""), {"data.file="}) == "--set: /data/file: expected a non-empty value");
}

TEST_CASE("an ONNX model takes any data, by the names of its inputs") {
  const std::string model = R"(model={"kind":"onnx","file":"/m/m.onnx","output":"logits"})";
  const std::string data =
      R"(data={"kind":"arrays","labels":"/y.npy","inputs":{"ids":"/i.npy","mask":"/m.npy"}})";
  const Recipe r = parse(with(""), {model, data});
  CHECK(r.model.file == "/m/m.onnx");
  CHECK(r.model.output == "logits");
  CHECK(r.data.inputs == std::map<std::string, std::string>{{"ids", "/i.npy"}, {"mask", "/m.npy"}});
  CHECK(to_json(parse_recipe(to_json(r), "/r/digits.json")) == to_json(r));
  CHECK(parse(with(""), {model, "data.input=x"}).data.input == "x");
  CHECK(error(with(""), {model, R"(data={"kind":"masked-text","text":"t","vocabulary":"v"})"})
            .empty());
  CHECK(error(with(""), {data}) ==
        "--set: /data/inputs: needs a model of the kind onnx or graph, got mlp");
  CHECK(error(with(""), {"data.input=x"}) ==
        "--set: /data/input: needs a model of the kind onnx or graph, got mlp");
  CHECK(error(with(""), {model, data, "data.inputs=null"}) ==
        R"(--set: /data: missing key 'features' (add "features": "PATH"))");
  CHECK(error(with(""), {model, data, "data.input=ids"}) ==
        "--set: /data/input: input needs the key features");
  CHECK(error(with(""), {model, data, "data.features=x.npy", "data.input=ids"}) ==
        "--set: /data/inputs/ids: input is already given by the key input");
}

TEST_CASE("training that has no meaning is refused") {
  CHECK(error(with(R"("epochs": 3)")) == "/epochs: steps and epochs exclude each other");
  CHECK(error(with(""), {"steps=null"}) == "missing key steps or epochs");
  CHECK(error(with(R"("accumulate": 3)")) == "/accumulate: batch 32 is not divisible by 3 parts");
  CHECK(error(with(R"("clip": -1)")) == "/clip: expected a value >= 0, got -1");
  CHECK(error(with(R"("seed": -1)")) == "/seed: expected an integer from 0 to 2^63 - 1, got -1");
  CHECK(error(with(R"("optimizer": {"momentum": 0.9})"))
            .starts_with("/optimizer/momentum: key belongs to sgd, not to adamw"));
  CHECK(error(with(R"("optimizer": {"kind": "sgd", "nesterov": true})")) ==
        "/optimizer/nesterov: nesterov needs a momentum > 0");
  CHECK(error(with(R"("optimizer": {"beta1": 1})")) ==
        "/optimizer/beta1: expected a value in [0, 1), got 1");
  CHECK(error(with(R"("optimizer": {"rate": 0})")) ==
        "/optimizer/rate: expected a value > 0, got 0");
  CHECK(error(with(R"("rate": {"kind": "step"})")) ==
        R"(/rate: missing key 'every' (add "every": 1))");
  CHECK(error(with(R"("rate": {"kind": "piecewise", "points": [[5, 1], [5, 0.1]]})")) ==
        "/rate/points/1: step 5 must be after step 5");
  CHECK(error(with(R"("rate": {"kind": "cosine", "warmup": 500})")) ==
        "/rate/warmup: 500 steps are more than the 400 steps of the run (the key scale multiplies "
        "all steps)");
  CHECK(error(with(R"("evaluation": {"keep_best": true})"), {"data.validation=0"}) ==
        "/evaluation/keep_best: keep_best needs data/validation > 0");
}

TEST_CASE("random crops have torchvision's ranges, or others that have a meaning") {
  const std::string resnet = R"(model={"kind":"resnet","depth":18,"classes":4})";
  const auto crop = [&](const std::string& value, const std::string& more = "") {
    return Overrides{resnet, R"(data={"kind":"images","folder":"/c","size":8,)" + more +
                                 R"("random_resized_crop":)" + value + "}"};
  };
  const auto error_of_crop = [&](const std::string& value, const std::string& more = "") {
    const std::string what = error(with(""), crop(value, more)), start = "--set: /data/";
    return what.starts_with(start) ? what.substr(start.size()) : what;
  };
  const Recipe r = parse(with(""), crop("{}"));
  CHECK(r.data.random_resized_crop->scale == std::vector<double>{0.08, 1});
  CHECK(r.data.random_resized_crop->ratio == std::vector<double>{3.0 / 4, 4.0 / 3});
  CHECK(to_json(parse_recipe(to_json(r), "/r/digits.json")) == to_json(r));
  CHECK(parse(with(""), crop(R"({"scale":[0.25,0.5]})")).data.random_resized_crop->scale ==
        std::vector<double>{0.25, 0.5});

  const std::string at = "random_resized_crop/";
  CHECK(held(142, error_of_crop("true") == "random_resized_crop: expected an object, got true"));
  CHECK(held(142, error_of_crop(R"({"scales":[0.5,1]})") ==
                      at + "scales: unknown key, did you mean 'scale'?"));
  CHECK(held(142, error_of_crop(R"({"scale":[0.5]})") ==
                      at + "scale: expected 2 values, from and to, got 1"));
  CHECK(held(142, error_of_crop(R"({"scale":[0,1]})") ==
                      at + "scale/0: expected a value in (0, 1], got 0"));
  CHECK(held(142, error_of_crop(R"({"scale":[0.5,1.5]})") ==
                      at + "scale/1: expected a value in (0, 1], got 1.5"));
  CHECK(held(142, error_of_crop(R"({"ratio":[2,1]})") == at + "ratio: from 2 must be <= to 1"));
  CHECK(held(142,
             error_of_crop(R"({"ratio":[-1,1]})") == at + "ratio/0: expected a value > 0, got -1"));
  CHECK(held(142, error_of_crop("{}", R"("crop_padding":4,)") ==
                      "crop_padding: crop_padding and random_resized_crop exclude each other"));
  CHECK(held(
      134,
      error(with(""), {resnet, R"(data={"kind":"shapes","size":8})", "data.random_resized_crop={}"})
          .starts_with("--set: /data/random_resized_crop: key belongs to images, not to shapes")));
}

TEST_CASE("sparsity that has no meaning is refused") {
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

TEST_CASE("schedules of a recipe without a meaning are refused") {
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

TEST_CASE("--set changes, adds and takes away") {
  const std::string entry = R"("sparsifier": "magnitude:sparsity=0.5")";
  CHECK(parse(with(""), {"optimizer.rate=0.25"}).optimizer.rate == 0.25);
  CHECK(parse(with(""), {"/optimizer/rate=1e-2"}).optimizer.rate == 0.01);
  CHECK(parse(with(""), {"name=true story"}).name == "true story");
  CHECK(parse(with(""), {"name=x=y"}).name == "x=y");
  // A string that looks like a number; in a file it has to be a string.
  CHECK(parse(with(""), {"data.label=3"}).data.label == "3");
  CHECK(error(with("\"name\": 3")) == "/name: expected a string, got 3");
  CHECK(parse(with(""), {"clip=1", "clip=2"}).clip == 2);
  CHECK(parse(with("\"clip\": 3"), {"clip=null"}).clip == 0);
  CHECK(parse(with(""), {"clip=null", "sparsity.0.mask=null"}).clip == 0);
  CHECK(entry_of(entry, {"sparsity.0.sparsifier=magnitude:sparsity=0.75"}).sparsifier.str() ==
        "magnitude:sparsity=0.75");
  const Recipe two =
      parse(with_entry(entry), {"sparsity.1.target=b", "sparsity.1.sparsifier=relu"});
  REQUIRE(two.sparsity.size() == 2);
  CHECK(two.sparsity[1].target == "b");
  CHECK(parse(with_entry(entry), {"sparsity.0=null"}).sparsity.empty());
  CHECK(parse(with(""), {"sparsity.0.target=b", "sparsity.0.sparsifier=relu"}).sparsity.size() ==
        1);
  // Paths of the command line are relative to the current directory.
  CHECK(parse(with(""), {"data.file=e.csv"}).data.file ==
        (std::filesystem::current_path() / "e.csv").string());
}

TEST_CASE("errors of --set name it") {
  CHECK(error(with(""), {"clip"}) == "--set 'clip': expected key=value");
  CHECK(error(with(""), {"=3"}) == "--set '=3': expected key=value");
  CHECK(error(with(""), {"a..b=3"}) == "--set 'a..b=3': key has an empty part");
  CHECK(error(with(""), {"clip=[1"}) == "--set 'clip=[1': the value: not JSON at line 1, column 3");
  CHECK(error(with(""), {"clpi=1"}) == "--set: /clpi: unknown key, did you mean 'clip'?");
  CHECK(error(with(""), {"clip=nan"}) == "--set: /clip: expected a number, got 'nan'");
  CHECK(error(with(""), {"optimizer={\"rate\":-1}"}) ==
        "--set: /optimizer/rate: expected a value > 0, got -1");
  CHECK(error(with(""), {"steps.a=1"}) ==
        "--set 'steps.a=1': /steps: expected an object or a list");
  CHECK(error(with_entry(R"("sparsifier": "relu")"), {"sparsity.7.target=a"}) ==
        "--set 'sparsity.7.target=a': /sparsity: index is out of range: the list has 1 elements "
        "(append with index 1)");
  CHECK(error(with_entry(R"("sparsifier": "relu")"), {"sparsity.first.target=a"}) ==
        "--set 'sparsity.first.target=a': /sparsity: expected the index of a list element, got "
        "'first'");
}

TEST_CASE("a recipe's file is read, and what is none is refused") {
  const auto path = std::filesystem::temp_directory_path() / "sten_recipe_test.json";
  std::ofstream(path) << with("");
  CHECK(read_recipe(path.string()).data.file == (path.parent_path() / "d.csv").string());
  std::ofstream(path) << "";
  CHECK(error_of([&] { read_recipe(path.string()); }).find("is empty") != std::string::npos);
  std::filesystem::remove(path);
}

TEST_CASE("what brings accuracy back is refused where it could do nothing") {
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
  CHECK(has(entry_error(R"("sparsifier": "2:4", "calibration": {"method": "admm"},
                           "mask": {"kind": "straight-through"})"),
            "exclude each other"));
  CHECK(has(entry_error(R"("sparsifier": "movement:sparsity=0.5", "schedule": {"begin": 5},
                           "mask": {"kind": "straight-through"})"),
            "straight-through needs a sparsifier without scores"));
}

TEST_CASE("scores that are learned are read, and refused where nothing learns them") {
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

TEST_CASE("adapters need weights whose positions are fixed") {
  const std::string one_shot =
      "lora needs weights that are pruned one-shot before the first step, ";
  for (const char* changes : {R"("mask": {"refresh": 5})", R"("schedule": {"begin": 5})",
                              R"("schedule": {"kind": "cubic", "stages": 4})"})
    CHECK(has(entry_error(std::string(R"("sparsifier": "magnitude:sparsity=0.5", )") + changes,
                          {R"(lora={"target":"layers.*.weight"})"}),
              one_shot));
}

TEST_CASE("formats of values and gradients without a meaning are refused") {
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

TEST_CASE("compressed gradients need a sparsifier of values, and float32") {
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

TEST_CASE("a threshold over all weights needs a sparsifier that ranks them together") {
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
