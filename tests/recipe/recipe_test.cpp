// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/recipe/recipe.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "tests/recipe/recipe_text.h"
#include "tests/support/bad_input.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

TEST_CASE("short forms of sparsifiers and layouts expand to full specs") {
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

TEST_CASE("a minimal recipe has the default values") {
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

TEST_CASE("a directory as model.config resolves to its config.json") {
  const TempDir dir;
  const Recipe r = parse_recipe(whole, "/r/digits.json", {"model.config=" + dir.path()});
  CHECK(r.model.config == dir.path() + "/config.json");
}

TEST_CASE("data.text accepts one file or a list of files") {
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

TEST_CASE("a recipe with keys in every section is parsed") {
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

TEST_CASE("recipes round-trip through JSON") {
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

TEST_CASE("a recipe in epochs gets its end steps when the number of steps is known") {
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

TEST_CASE("scale multiplies all step counts of a recipe") {
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

TEST_CASE("one error lists all keys that exceed the number of steps") {
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

TEST_CASE("recipe errors name the file and the JSON pointer") {
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

TEST_CASE("ONNX models take data by input name, and other models reject data.inputs") {
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

TEST_CASE("invalid training settings are rejected") {
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

TEST_CASE("keys that would have no effect are rejected") {
  const auto taught = [](const std::string& keys, const Overrides& set = {}) {
    return error(
        with(R"("distillation": {"teacher": "t", "states": "*.relu", "hidden": 1, )" + keys + "}"),
        set);
  };
  CHECK(taught(R"("logits": 1)", {"label_smoothing=0.1"}) ==
        "--set: /label_smoothing: label_smoothing needs distillation/logits < 1");
  CHECK(taught(R"("logits": 0.9)", {"label_smoothing=0.1"}).empty());
  CHECK(taught(R"("logits": 0, "temperature": 3)") ==
        "/distillation/temperature: temperature needs logits > 0");
  CHECK(taught(R"("logits": 0.1, "temperature": 3)").empty());

  const std::string model = R"(model={"kind":"onnx","file":"/m/m.onnx"})";
  const std::string data = R"(data={"kind":"arrays","labels":"/y.npy","inputs":{"ids":"/i.npy"})";
  for (const std::string key : {"scale", "shift", "mean", "std", "crop_padding", "mirror"}) {
    CAPTURE(key);
    const bool is_list = key == "mean" || key == "std";
    const std::string value = key == "mirror" ? "true" : is_list ? "[2]" : "2";
    const Overrides set{model, data + ",\"" + key + "\":" + value + "}"};
    CHECK(error(with(""), set) == "--set: /data/" + key + ": " + key + " needs the key features");
    CHECK(error(with(""), {set[0], set[1], "data.features=x.npy"}).empty());
  }
}

TEST_CASE("random crops default to torchvision's ranges, and invalid ranges are rejected") {
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

TEST_CASE("--set changes, adds and removes recipe keys") {
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

TEST_CASE("errors of --set name the option") {
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

TEST_CASE("read_recipe reads a file and rejects an empty file") {
  const auto path = std::filesystem::temp_directory_path() / "sten_recipe_test.json";
  std::ofstream(path) << with("");
  CHECK(read_recipe(path.string()).data.file == (path.parent_path() / "d.csv").string());
  std::ofstream(path) << "";
  CHECK(error_of([&] { read_recipe(path.string()); }).find("is empty") != std::string::npos);
  std::filesystem::remove(path);
}
