// SPDX-License-Identifier: Apache-2.0
// Recipes of the tests, and the errors of their variants.
#pragma once
#include "libsten/training/recipe/recipe.h"
#include "tests/support/tensors.h"

namespace sten::testing {

inline const std::string model = R"("model": {"kind": "mlp", "sizes": [64, 16, 10]})";
inline const std::string data = R"("data": {"kind": "csv", "file": "d.csv"})";

// A minimal recipe of 400 steps with additional keys.
inline std::string with(const std::string& rest) {
  return R"({"schema": 1, )" + model + ", " + data + R"(, "steps": 400)" +
         (rest.empty() ? "" : ", ") + rest + "}";
}
inline std::string with_entry(const std::string& entry) {
  return with(R"("sparsity": [{"target": "*.weight", )" + entry + "}]");
}

inline Recipe parse(const std::string& json, const Overrides& set = {}) {
  return parse_recipe(json, "/r/digits.json", set);
}
inline std::string error(const std::string& json, const Overrides& set = {}) {
  const std::string what = error_of([&] { parse(json, set); });
  // The prefix of all messages.
  const std::string file = "/r/digits.json: ";
  return what.starts_with(file) ? what.substr(file.size()) : what;
}
inline std::string entry_error(const std::string& entry, const Overrides& set = {}) {
  return error(with_entry(entry), set);
}
inline SparsityRecipe entry_of(const std::string& entry, const Overrides& set = {}) {
  return parse(with_entry(entry), set).sparsity.at(0);
}

// A recipe with keys in every section.
inline const char* const whole = R"({
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

}  // namespace sten::testing
