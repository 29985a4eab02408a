// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/recipe/check.h"

#include <algorithm>
#include <array>

#include "libsten/core/base/text.h"

namespace sten::recipe_detail {

void require(const JsonReader& at, const char* key, std::string_view example) {
  if (at.has(key)) return;
  (void)at.members();  // fails unless the value is an object
  at.fail(fmt::format("missing key {} (add \"{}\": {})", quote(key), key, example));
}

namespace {

const char* data_of(const ModelRecipe& m) {
  return m.kind == "bert" ? "masked-text, labelled-text or labelled-words"
         : is_decoder(m)  ? "text"
                          : "csv, arrays or images";
}

void check_given(const JsonReader& at, const char* key, const std::string& v) {
  if (at.has(key) && v.empty()) at[key].fail("expected a non-empty value");
}

// Adapters are added to weights whose positions are fixed.
void check_lora(const JsonReader& at, const Recipe& r) {
  check_given(at["lora"], "target", r.lora->target);
  for (std::size_t i = 0; i < r.sparsity.size(); ++i) {
    const SparsityRecipe& s = r.sparsity[i];
    if (s.schedule.kind == "one-shot" && s.schedule.begin == 0 && s.mask.kind == "fixed" &&
        !s.scores)
      continue;
    at["sparsity"].elements()[i].fail(
        "lora needs weights that are pruned one-shot before the first step, with a fixed mask");
  }
  for (std::size_t i = 0; i < r.formats.size(); ++i)
    if (r.formats[i].of == "weight-gradient")
      at["formats"].elements()[i]["of"].fail("with lora, weights of the model have no gradients");
}

void check_teacher(const JsonReader& at, const Recipe& r) {
  const DistillationRecipe& d = *r.distillation;
  if (d.logits == 0 && d.hidden == 0) at.fail("logits or hidden must be > 0");
  if (d.hidden > 0 && d.states.empty() && !has_config(r.model))
    at["hidden"].fail("missing states (a pattern of the values to compare)");
  check_given(at, "states", d.states);
  if (!d.states.empty() && d.hidden == 0) at["states"].fail("states need hidden > 0");
  if (d.logits == 0 && d.temperature != DistillationRecipe{}.temperature)
    at["temperature"].fail("temperature needs logits > 0");
}

// Preprocessing applies to features only, not to named inputs.
void check_inputs_only(const JsonReader& at, const DataRecipe& d) {
  const DataRecipe usual;
  for (const auto& [key, is_given] : {std::pair("scale", d.scale != usual.scale),
                                      {"shift", d.shift != usual.shift},
                                      {"mean", !d.mean.empty()},
                                      {"std", !d.std.empty()},
                                      {"crop_padding", d.crop_padding > 0},
                                      {"mirror", d.mirror}})
    if (is_given) at[key].fail(fmt::format("{} needs the key features", key));
}

}  // namespace

JsonReader place(const JsonReader& at, std::string_view key) { return at.has(key) ? at[key] : at; }

void check(const JsonReader& at, const ModelRecipe& m) {
  if (m.kind == "mlp" && m.sizes.size() < 2)
    at["sizes"].fail("expected the size of the input and of each layer's output");
  if (constexpr std::size_t most = 10'000; m.sizes.size() > most)
    at["sizes"].fail(fmt::format("{} sizes are more than {}", m.sizes.size(), most));
  if (m.kind == "resnet" &&
      !std::ranges::count(std::to_array<Index>({18, 34, 50, 101, 152}), m.depth))
    at["depth"].fail(fmt::format("expected 18, 34, 50, 101 or 152, got {}", m.depth));
  if (m.kind == "wide-resnet" && (m.depth < 10 || (m.depth - 4) % 6 != 0))
    at["depth"].fail(fmt::format("expected 6n + 4 (10, 16, 28, 40), got {}", m.depth));
  check_given(at, "output", m.output);
}

void check(const JsonReader& at, const RandomResizedCropRecipe& c) {
  for (const auto& [key, value] : {std::pair("scale", &c.scale), {"ratio", &c.ratio}}) {
    if (value->size() != 2)
      at[key].fail(fmt::format("expected 2 values, from and to, got {}", value->size()));
    if (value->front() > value->back())
      at[key].fail(fmt::format("from {} must be <= to {}", value->front(), value->back()));
  }
}

void check(const JsonReader& at, const DataRecipe& d) {
  if (d.random_resized_crop && d.crop_padding > 0)
    at["crop_padding"].fail("crop_padding and random_resized_crop exclude each other");
  if (d.kind == "cifar" && d.classes != 10 && d.classes != 20 && d.classes != 100)
    at["classes"].fail(fmt::format("expected 10, 20 or 100, got {}", d.classes));
  if (d.kind == "images" && d.channels == 2) at["channels"].fail("expected 1 or 3, got 2");
  if (d.kind == "images" && d.resize > 0 && d.resize < d.size)
    at["resize"].fail("resize must be >= the crop size");
  if (d.kind == "shapes" && (d.size < 8 || d.size > 256))
    at["size"].fail("size of shapes must be in [8, 256]");
  if (d.train + d.validation > 1 + rounding)
    place(at, "validation")
        .fail(
            fmt::format("train {} and validation {} must have a sum <= 1", d.train, d.validation));
  if (d.masked + d.random > 1 + rounding)
    place(at, "random")
        .fail(fmt::format("masked {} and random {} must have a sum <= 1", d.masked, d.random));
  if (at.has("shape") && d.shape.size() != 3)
    at["shape"].fail("expected [height, width, channels]");
  if (d.kind == "masked-text" && d.text.size() > 1)
    at["text"].fail(fmt::format("expected one file of masked-text, got {}", d.text.size()));
  if (d.scale == 0) at["scale"].fail("scale must not be 0");
  for (const auto& [key, value] : {std::pair("label", &d.label),
                                   {"text_column", &d.text_column},
                                   {"pair_column", &d.pair_column},
                                   {"label_column", &d.label_column}})
    check_given(at, key, *value);
  check_given(at, "input", d.input);
  if (!d.input.empty() && d.kind == "arrays" && d.features.empty())
    at["input"].fail("input needs the key features");
  if (d.inputs.contains(d.input))
    at["inputs"][d.input].fail("input is already given by the key input");
  if (d.kind == "arrays" && d.inputs.empty()) require(at, "features", "\"PATH\"");
  if (d.kind == "arrays" && d.features.empty()) check_inputs_only(at, d);
}

void check(const JsonReader& at, const OptimizerRecipe& o) {
  if (o.nesterov && o.momentum == 0) at["nesterov"].fail("nesterov needs a momentum > 0");
}

void check(const JsonReader& at, const RateRecipe& r) {
  if (r.kind != "piecewise") return;
  if (r.points.empty()) at["points"].fail("expected a non-empty value");
  for (std::size_t i = 1; i < r.points.size(); ++i)
    if (r.points[i].first <= r.points[i - 1].first)
      at["points"].elements()[i].fail(
          fmt::format("step {} must be after step {}", r.points[i].first, r.points[i - 1].first));
}

void check(const JsonReader& at, const Recipe& r) {
  const bool from_file = is_from_file(r.model);
  if (from_file && (r.data.kind == "text" || is_labelled(r.data)))
    at["data"]["kind"].fail(fmt::format(
        "{} does not fit the model {} (expected masked-text or rows)", r.data.kind, r.model.kind));
  const bool is_of_bert = r.data.kind == "masked-text" || is_labelled(r.data);
  const bool fits =
      is_of_bert == (r.model.kind == "bert") && (r.data.kind == "text") == is_decoder(r.model);
  if (!from_file && !fits)
    at["data"]["kind"].fail(fmt::format("{} does not fit the model {} (expected {})", r.data.kind,
                                        r.model.kind, data_of(r.model)));
  for (const char* key : {"input", "inputs"})
    if (!from_file && at["data"].has(key))
      at["data"][key].fail("needs a model of the kind onnx or graph, got " + r.model.kind);
  if (!is_for_images(r.model) && at["data"].has("shape"))
    at["data"]["shape"].fail("needs an image model, got " + r.model.kind);
  if ((r.steps > 0) == (r.epochs > 0))
    place(at, r.steps ? "epochs" : "")
        .fail(r.steps ? "steps and epochs exclude each other" : "missing key steps or epochs");
  if (r.batch % r.accumulate != 0)
    place(at, "accumulate")
        .fail(fmt::format("batch {1} is not divisible by {0} parts", r.accumulate, r.batch));
  if (r.distillation) check_teacher(at["distillation"], r);
  if (r.label_smoothing > 0 && r.distillation && r.distillation->logits == 1)
    at["label_smoothing"].fail("label_smoothing needs distillation/logits < 1");
  if (r.lora) check_lora(at, r);
  if (r.ema > 0 &&
      std::ranges::any_of(r.sparsity, [](const auto& s) { return s.scores.has_value(); }))
    at["ema"].fail("ema and learned scores exclude each other");
  if (r.evaluation.keep_best && r.data.validation == 0)
    at["evaluation"]["keep_best"].fail("keep_best needs data/validation > 0");
  for (std::size_t i = 0; i < r.sparsity.size(); ++i) {
    if (!r.sparsity[i].schedule.prunes_until_recovered()) continue;
    if (r.data.validation == 0)
      at["sparsity"].elements()[i]["schedule"]["until"].fail("until needs data/validation > 0");
    if (r.rate.rewind)
      at["rate"]["rewind"].fail("rewind needs stages at planned steps, without schedule/until");
  }
}

}  // namespace sten::recipe_detail
