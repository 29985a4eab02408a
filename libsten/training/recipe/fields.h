// SPDX-License-Identifier: Apache-2.0
// The keys of a recipe's JSON. Reader, writer and lister visit the same fields. A visitor has
// kind() for the key that decides which other keys exist, operator() for other values, section(),
// optional(), list() and mask().
#pragma once
#include <limits>
#include <string_view>
#include <vector>

#include "libsten/training/recipe/recipe.h"

namespace sten::recipe_detail {

using Words = std::vector<std::string_view>;

// Valid values of a key, and the kinds that have it.
struct Rule {
  Words kinds = {};  // kinds that have the key; empty: all
  bool required = false;
  bool path = false;
  bool or_single = false;       // of a list: one element may stand for the list
  bool or_zero_absent = false;  // 0 is not written: the value is open
  Words choices = {};
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool above = false, below = false;  // the interval is open at this end
};

inline const double most = static_cast<double>(Index{1} << 53);
inline Rule count_from(double low, Words kinds = {}) {
  return {.kinds = std::move(kinds), .low = low, .high = most};
}
inline Rule fraction(Words kinds = {}) { return {.kinds = std::move(kinds), .low = 0, .high = 1}; }

template <class V>
void fields_of(V& v, ModelRecipe& m) {
  const Words images{"resnet", "wide-resnet"}, language{"bert", "decoder", "gpt"};
  v.kind(m.kind, {"mlp", "resnet", "wide-resnet", "bert", "decoder", "gpt", "onnx", "graph"}, true);
  if constexpr (V::reads)
    if (m.kind == "resnet") m.width = 64;
  v("sizes", m.sizes, {.kinds = {"mlp"}, .required = true, .low = 1, .high = most});
  v("activation", m.activation, {.kinds = {"mlp"}, .choices = {"relu", "gelu", "tanh", "sigmoid"}});
  v("depth", m.depth, {.kinds = images, .required = true, .low = 1, .high = 10000});
  v("width", m.width, {.kinds = images, .low = 1, .high = 1 << 20});
  v("classes", m.classes, {.kinds = images, .required = true, .low = 1, .high = most});
  v("channels", m.channels, {.kinds = images, .low = 1, .high = most});
  v("stem", m.stem, {.kinds = {"resnet"}, .choices = {"imagenet", "cifar"}});
  v("dropout", m.dropout,
    {.kinds = {"wide-resnet", "bert", "decoder", "gpt"}, .low = 0, .high = 1, .below = true});
  v("config", m.config, {.kinds = language, .required = true, .path = true});
  v("file", m.file, {.kinds = {"onnx", "graph"}, .required = true, .path = true});
  v("output", m.output, {.kinds = {"onnx", "graph"}});
  v("batch_norm", m.batch_norm, {.kinds = {"onnx"}, .choices = {"train", "frozen"}});
  v("weights", m.weights, {.path = true});
}

template <class V>
void fields_of(V& v, RandomResizedCropRecipe& c) {
  v("scale", c.scale, {.low = 0, .high = 1, .above = true});
  v("ratio", c.ratio, {.low = 0, .above = true});
}

template <class V>
void fields_of(V& v, DataRecipe& d) {
  const Words table{"csv", "arrays"}, masked{"masked-text"}, text{"masked-text", "text"};
  const Words labelled{"labelled-text", "labelled-words"}, pairs{"labelled-text"};
  const Words numbers{"csv", "arrays", "cifar", "images", "shapes"};
  Words rows = numbers, all_text = text, files = labelled;
  rows.insert(rows.end(), labelled.begin(), labelled.end());
  all_text.insert(all_text.end(), labelled.begin(), labelled.end());
  files.emplace_back("csv");
  v.kind(d.kind,
         {"csv", "arrays", "cifar", "images", "shapes", "masked-text", "labelled-text",
          "labelled-words", "text"},
         true);
  v("file", d.file, {.kinds = files, .required = true, .path = true});
  v("test_file", d.test_file, {.kinds = labelled, .path = true});
  v("label", d.label, {.kinds = {"csv"}});
  v("features", d.features, {.kinds = {"arrays"}, .path = true});
  v("inputs", d.inputs, {.kinds = {"arrays"}, .path = true});
  v("labels", d.labels, {.kinds = {"arrays"}, .path = true});
  v("input", d.input, {.kinds = numbers});
  v("shape", d.shape, {.kinds = table, .low = 1, .high = most});
  v("folder", d.folder, {.kinds = {"cifar", "images"}, .required = true, .path = true});
  v("test_folder", d.test_folder, {.kinds = {"images"}, .path = true});
  v("classes", d.classes, {.kinds = {"cifar"}, .low = 10, .high = 100});
  v("count", d.count, count_from(1, {"shapes"}));
  v("size", d.size, {.kinds = {"images", "shapes"}, .required = true, .low = 1, .high = 8192});
  v("resize", d.resize, {.kinds = {"images"}, .or_zero_absent = true, .low = 1, .high = 8192});
  v("channels", d.channels, {.kinds = {"images"}, .low = 1, .high = 3});
  v("cache", d.cache, {.kinds = {"images"}, .low = 0, .high = 1 << 30});
  v("noise", d.noise, {.kinds = {"shapes"}, .low = 0, .high = 255});
  v("text", d.text, {.kinds = text, .required = true, .path = true, .or_single = true});
  v("vocabulary", d.vocabulary, {.kinds = all_text, .required = true, .path = true});
  if constexpr (V::reads) {
    if (d.kind == "cifar" || !d.test_folder.empty() || !d.test_file.empty())
      d.train = 1, d.validation = 0;
    const bool words = d.kind == "labelled-words";
    if (words || d.kind == "labelled-text") {
      d.text_column = words ? "tokens" : "text";
      d.label_column = words ? "labels" : "label";
    }
  }
  v("text_column", d.text_column, {.kinds = labelled});
  v("pair_column", d.pair_column, {.kinds = pairs});
  v("label_column", d.label_column, {.kinds = labelled});
  v("train", d.train, {.low = 0, .high = 1, .above = true});
  v("validation", d.validation, fraction());
  v("split_seed", d.split_seed, {.kinds = rows});
  v("scale", d.scale, {.kinds = table});
  v("shift", d.shift, {.kinds = table});
  v("mean", d.mean, {.kinds = numbers});
  v("std", d.std, {.kinds = numbers, .low = 0, .above = true});
  v("crop_padding", d.crop_padding, {.kinds = numbers, .low = 0, .high = 4096});
  v("mirror", d.mirror, {.kinds = numbers});
  v.optional("random_resized_crop", d.random_resized_crop, {"images"});
  v("completion_only_loss", d.completion_only_loss, {.kinds = {"text"}});
  v("window", d.window, count_from(1, all_text));
  v("predicted", d.predicted, {.kinds = masked, .low = 0, .high = 1, .above = true});
  v("masked", d.masked, fraction(masked));
  v("random", d.random, fraction(masked));
}

template <class V>
void fields_of(V& v, OptimizerRecipe& o) {
  v.kind(o.kind, {"adamw", "sgd"});
  if constexpr (V::reads)
    if (o.kind == "sgd") o.weight_decay = 0;
  v("rate", o.rate, {.low = 0, .above = true});
  v("beta1", o.beta1, {.kinds = {"adamw"}, .low = 0, .high = 1, .below = true});
  v("beta2", o.beta2, {.kinds = {"adamw"}, .low = 0, .high = 1, .below = true});
  v("eps", o.eps, {.kinds = {"adamw"}, .low = 0, .above = true});
  v("momentum", o.momentum, {.kinds = {"sgd"}, .low = 0});
  v("nesterov", o.nesterov, {.kinds = {"sgd"}});
  v("weight_decay", o.weight_decay, {.low = 0});
}

template <class V>
void fields_of(V& v, RateRecipe& r) {
  v.kind(r.kind, {"constant", "step", "piecewise", "cosine"});
  v("warmup", r.warmup, count_from(0));
  v("every", r.every, {.kinds = {"step"}, .required = true, .low = 1, .high = most});
  v("factor", r.factor, {.kinds = {"step"}, .low = 0});
  v("points", r.points, {.kinds = {"piecewise"}, .required = true, .low = 0});
  v("end", r.end, fraction({"cosine"}));
  v("rewind", r.rewind);
}

template <class V>
void fields_of(V& v, ScheduleRecipe& s) {
  const Words formulas{"linear", "cubic", "exponential"};
  Words rising = formulas, spread = formulas;
  rising.push_back("iterative");
  spread.insert(spread.end(), {"iterative", "layer-wise"});
  v.kind(s.kind, {"one-shot", "iterative", "layer-wise", "linear", "cubic", "exponential"});
  if (V::reads || s.sparsifiers.empty()) {
    v("from", s.from, fraction(rising));
    v("to", s.to, fraction(rising));
    v("step", s.step,
      {.kinds = {"iterative"}, .or_zero_absent = true, .low = 0, .high = 1, .above = true});
  }
  v("sparsifiers", s.sparsifiers, {.kinds = {"iterative"}});
  v("stages", s.stages, {.kinds = formulas, .required = true, .low = 1, .high = 10000});
  v("begin", s.begin, count_from(0));
  v("end", s.end, {.kinds = spread, .or_zero_absent = true, .low = 1, .high = most});
  v("until", s.until, {.kinds = {"layer-wise"}, .choices = {"recovered"}});
  if (V::reads || s.prunes_until_recovered()) {
    v("tolerance", s.recovery.tolerance, {.kinds = {"layer-wise"}, .low = 0});
    v("rounds", s.recovery.rounds, count_from(1, {"layer-wise"}));
    v("patience", s.recovery.patience, count_from(1, {"layer-wise"}));
  }
}

template <class V>
void fields_of(V& v, MaskRecipe& m) {
  const Words reselect{"refresh", "regrow"};
  if constexpr (V::reads)
    if (m.kind == "fixed") m.kind = "refresh";  // unless the value is the word "fixed"
  v.kind(m.kind, {"refresh", "regrow", "straight-through"});
  v("refresh", m.refresh, {.kinds = reselect, .required = true, .low = 1, .high = most});
  v("end", m.end, {.kinds = reselect, .or_zero_absent = true, .low = 1, .high = most});
  v("share", m.share, {.kinds = {"regrow"}, .low = 0, .high = 1, .above = true});
  v("decay", m.decay, {.kinds = {"straight-through"}, .low = 0});
}

template <class V>
void fields_of(V& v, CalibrationRecipe& c) {
  v("method", c.method,
    {.required = true, .choices = {"magnitude", "wanda", "ria", "sparsegpt", "admm"}});
  v("rows", c.rows, count_from(1));
  v("reconstruct", c.reconstruct);
  v("damping", c.damping, {.low = 0, .high = 1, .above = true});
  v("scope", c.scope, {.choices = {"row", "local"}});
}

template <class V>
void fields_of(V& v, ScoresRecipe& s) {
  v("rate", s.rate, {.low = 0, .above = true});
  v("penalty", s.penalty, {.low = 0});
  v("warmup", s.warmup, count_from(0));
  v("initial", s.initial);
  v("end", s.end, {.or_zero_absent = true, .low = 1, .high = most});
}

template <class V>
void fields_of(V& v, DistillationRecipe& d) {
  v("teacher", d.teacher, {.path = true});
  v("logits", d.logits, fraction());
  v("temperature", d.temperature, {.low = 0, .above = true});
  v("hidden", d.hidden, {.low = 0});
  v("states", d.states);
}

template <class V>
void fields_of(V& v, LoraRecipe& l) {
  v("target", l.target, {.required = true});
  v("rank", l.rank, count_from(1));
  v("alpha", l.alpha, {.low = 0, .above = true});
}

template <class V>
void fields_of(V& v, SparsityRecipe& s) {
  v("target", s.target, {.required = true});
  v("sparsifier", s.sparsifier);
  v("layout", s.layout);
  v("save", s.save);
  v("scope", s.scope, {.choices = {"local", "global"}});
  v.section("schedule", s.schedule);
  v.mask(s.mask);
  v.optional("calibration", s.calibration);
  v.optional("scores", s.scores);
}

template <class V>
void fields_of(V& v, FormatRecipe& f) {
  v("of", f.of,
    {.required = true, .choices = {"intermediate", "weight-gradient", "intermediate-gradient"}});
  v("target", f.target, {.required = true});
  v("inline", f.inline_by);
  v("temporary", f.temporary);
  v("external", f.external);
  v("layout", f.layout);
  v("begin", f.begin, count_from(0));
  v("end", f.end, {.or_zero_absent = true, .low = 1, .high = most});
}

template <class V>
void fields_of(V& v, ExchangeRecipe& e) {
  v("transport", e.transport, {.choices = {"float32", "bfloat16"}});
  v("overlap", e.overlap, {.choices = {"auto", "always", "never"}});
  v("sparsifier", e.sparsifier);
  v("error_feedback", e.error_feedback);
  v("begin", e.begin, count_from(0));
}

template <class V>
void fields_of(V& v, EvaluationRecipe& e) {
  v("every", e.every, count_from(0));
  v("batch", e.batch, count_from(1));
  v("keep_best", e.keep_best);
  v("test", e.test);
}

// Sections without a public struct.
struct Checkpoints {
  Recipe& recipe;
};
struct Logging {
  Recipe& recipe;
};

template <class V>
void fields_of(V& v, Checkpoints& c) {
  v("every", c.recipe.checkpoint_every, count_from(0));
  v("keep", c.recipe.keep_checkpoints, count_from(1));
}

template <class V>
void fields_of(V& v, Logging& l) {
  v("every", l.recipe.log_every, count_from(1));
}

template <class V>
void fields_of(V& v, Recipe& r) {
  Index version = 1;
  std::string schema;  // URL for editors
  v("$schema", schema);
  v("schema", version, {.required = true, .low = 1, .high = 1});
  v("name", r.name);
  v.section("model", r.model, true);
  v.section("data", r.data, true);
  v("loss", r.loss, {.choices = {"cross-entropy"}});
  v("label_smoothing", r.label_smoothing, {.low = 0, .high = 1, .below = true});
  v.optional("distillation", r.distillation);
  v.optional("lora", r.lora);
  v.section("optimizer", r.optimizer);
  v.section("rate", r.rate);
  v("steps", r.steps, {.or_zero_absent = true, .low = 1, .high = most});
  v("epochs", r.epochs, {.or_zero_absent = true, .low = 1, .high = most});
  v("scale", r.scale, {.or_zero_absent = true, .low = 0, .high = 1000, .above = true});
  v("batch", r.batch, count_from(1));
  v("accumulate", r.accumulate, count_from(1));
  v("activation_checkpointing", r.activation_checkpointing);
  v("clip", r.clip, {.low = 0});
  v("ema", r.ema, {.low = 0, .high = 1, .below = true});
  v("seed", r.seed);
  v("products", r.products, {.choices = {"onednn", "openblas", "own"}});
  v("device_products", r.device_products, {.choices = {"float32", "tf32", "bfloat16"}});
  v.list("sparsity", r.sparsity);
  v.list("formats", r.formats);
  v.section("exchange", r.exchange);
  v.section("evaluation", r.evaluation);
  Checkpoints checkpoints{r};
  v.section("checkpoints", checkpoints);
  Logging logging{r};
  v.section("logging", logging);
}

}  // namespace sten::recipe_detail
