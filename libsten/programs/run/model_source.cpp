// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/run/model_source.h"

#include <filesystem>

#include "libsten/core/base/json.h"
#include "libsten/core/base/log.h"
#include "libsten/core/base/memory_left.h"
#include "libsten/core/base/text.h"
#include "libsten/data/tokenizer/tokenizer.h"
#include "libsten/files/gguf/tokenizer_json.h"
#include "libsten/files/system/data_file.h"
#include "libsten/files/system/file_kind.h"
#include "libsten/model/execution/generation.h"
#include "libsten/model/fusion/fused_graph.h"
#include "libsten/model/graph/graph_json.h"
#include "libsten/model/graph/inference.h"
#include "libsten/model/nn/bert.h"
#include "libsten/model/nn/causal_model.h"
#include "libsten/model/nn/config_file.h"
#include "libsten/model/nn/resnet.h"
#include "libsten/model/nn/weights.h"
#include "libsten/training/task/recipe_model.h"
#include "libsten/training/trainer/run_files.h"

namespace sten {
namespace {

namespace fs = std::filesystem;

// Path of a file in a directory; "" if there is none.
std::string file_in(const std::string& directory, const char* name) {
  const fs::path path = fs::path(directory) / name;
  return fs::is_regular_file(path) ? path.string() : "";
}

// The model that config.json describes; BERT by default.
ModelRecipe model_of_config(const std::string& config) {
  ModelRecipe m;
  m.kind = is_causal_config(read_config(config), printable(config)) ? "decoder" : "bert";
  m.config = config;
  return m;
}

void describe_directory(const std::string& directory, ModelSource& source) {
  ModelDescription& what = source.what;
  what.vocabulary = tokenizer_file(directory);
  if (const std::string recipe = file_in(directory, "recipe.json"); !recipe.empty()) {
    source.recipe = read_recipe(recipe);
    what.model = source.recipe->model;
    // The recipe's model file may be gone; the graph in the output directory has the same nodes.
    if (is_from_file(what.model) && !fs::exists(what.model.file))
      if (const std::string own = file_in(directory, RunFiles::model_file(what.model));
          !own.empty())
        what.model.file = own;
  }
  const std::string config = file_in(directory, "config.json");
  // Replaces the recipe's config, too, whose file may be gone.
  if (!config.empty() && (!what.is_known() || has_config(what.model)))
    what.model = model_of_config(config);
  if (what.is_known()) return;
  what.model.file = file_in(directory, RunFiles::graph_file);
  if (!what.model.file.empty()) what.model.kind = "graph";
}

GraphPort port(std::string name, DType dtype, std::vector<std::string> axes) {
  GraphPort p{std::move(name), dtype, std::vector<GraphPort::Extent>()};
  for (std::string& axis : axes) p.shape->push_back({std::nullopt, std::move(axis)});
  return p;
}

std::vector<ModelInput> text_ports(bool has_types, bool has_mask) {
  std::vector<ModelInput> all = {port("input_ids", DType::I64, {"batch", "tokens"}),
                                 port("position_ids", DType::I64, {"tokens"})};
  if (has_types) all.push_back(port("token_type_ids", DType::I64, {"batch", "tokens"}));
  if (has_mask) all.push_back(port("attention_mask", DType::I64, {"batch", "tokens"}));
  return all;
}

std::vector<ModelInput> ports_of(const Graph& g) {
  std::vector<ModelInput> all;
  for (const std::string& name : g.inputs()) all.push_back({name, std::nullopt, std::nullopt});
  return all;
}

// The input of a model of rows of features, or of images.
ModelInput recipe_port(const ModelRecipe& m) {
  ModelInput x = port("x", DType::F32, {"batch"});
  if (is_for_images(m)) {
    x.shape->push_back({std::nullopt, "height"});
    x.shape->push_back({std::nullopt, "width"});
    x.shape->push_back({m.channels, ""});
  } else {
    x.shape->push_back({m.sizes.front(), ""});
  }
  return x;
}

void check_memory_of(const Graph& g, const std::string& name) {
  double parameters = 0;
  for (const Weight& w : g.weights()) parameters += static_cast<double>(size_of(w.shape));
  check_memory(4 * parameters, fmt::format("{}: {:.3g} parameters", name, parameters));
}

// Data without a recipe do not describe the model.
[[noreturn]] void fail_unknown(const ModelSource& source) {
  fail_usage(
      "{}: expected a model, got only weights (--config takes a config.json, recipe, graph or ONNX "
      "file of the architecture)",
      source.name);
}

}  // namespace

ModelSource find_model(const std::string& path) {
  ModelSource source;
  auto file = std::make_shared<Checkpoint>(Checkpoint::open(path));
  source.name = file->name();
  source.weights = file;
  if (file->is_array()) fail_usage("{}: expected a model, got an array", source.name);
  std::error_code error;
  if (fs::is_directory(path, error)) describe_directory(path, source);
  if (file->gguf()) {
    source.what.model = model_of_config(path);
    if (has_gguf_tokenizer(*file->gguf())) source.what.vocabulary = path;
  }
  if (file->is_onnx() && !source.what.is_known()) {
    source.what.model.kind = "onnx";
    source.what.model.file = path;
  }
  return source;
}

ModelDescription describe_model(const std::string& file) {
  const MappedFile bytes = open_data(file);
  const std::string name = printable(file);
  ModelDescription what;
  if (is_onnx(bytes.bytes())) {
    what.model.kind = "onnx";
    what.model.file = file;
    return what;
  }
  const auto json = parse_json(text_of(bytes.bytes()), name, Fault::input);
  if (json.contains("nodes")) {
    what.model.kind = "graph";
    what.model.file = file;
  } else if (json.contains("model")) {
    const Recipe recipe = read_recipe(file);
    what.model = recipe.model;
    what.vocabulary = recipe.data.vocabulary;
  } else if (json.contains("hidden_size") || json.contains("n_embd") ||
             json.contains("model_type") || json.contains("text_config")) {
    what.model = model_of_config(file);
    what.vocabulary = tokenizer_file(fs::path(file).parent_path().string());
  } else {
    fail("{}: expected a recipe, a graph, an ONNX model or a model's config.json", name);
  }
  return what;
}

void describe_by(const std::string& config, ModelSource& source) {
  if (config.empty()) return;
  if (source.what.is_known())
    fail_usage("--config: expected a weights-only model, got {}, which has an architecture",
               source.name);
  source.what = describe_model(config);
}

RunnableModel read_model(const ModelSource& source, bool has_mask, bool last) {
  const ModelRecipe& m = source.what.model;
  const Checkpoint& file = *source.weights;
  if (!source.what.is_known()) fail_unknown(source);
  const auto with = [&](Graph g, std::vector<ModelInput> inputs,
                        const std::vector<std::string>& unused) {
    check_memory_of(g, source.name);
    NamedValues<Tensor> weights = load_weights(g, file, unused, {}, LowWeights::unchanged);
    const auto positions = positions_of(g);
    return RunnableModel{source.name, std::move(g), std::move(weights), std::move(inputs),
                         positions};
  };
  if (m.kind == "onnx") {
    const Checkpoint model = file.is_onnx() ? file : Checkpoint::open(m.file);
    OnnxImport imported = import_onnx(model, {.mode = OnnxMode::evaluation});
    check_memory_of(imported.graph, source.name);
    NamedValues<Tensor> weights =
        load_imported(imported.graph, file, &model, imported.not_weights, LowWeights::unchanged);
    const auto positions = positions_of(imported.graph);
    return {source.name, std::move(imported.graph), std::move(weights), std::move(imported.inputs),
            positions};
  }
  if (m.kind == "bert") {
    const BertConfig config = BertConfig::read(m.config);
    if (!config.unknown_class.empty())
      fail_usage("{}: /architectures: expected one of {}, got {}", printable(m.config),
                 known_bert_classes(), quote(config.unknown_class));
    const bool has_pooler =
        file.find("pooler.dense.weight") || file.find("bert.pooler.dense.weight");
    const BertParts parts{
        .head = config.head, .classes = config.classes(), .pooler = has_pooler, .mask = has_mask};
    return with(bert(config, parts), text_ports(true, has_mask), bert_unused(config.head));
  }
  if (is_decoder(m)) {
    CausalModel model =
        causal_model(read_config(m.config), printable(m.config), {.mask = has_mask, .last = last});
    RunnableModel runnable =
        with(std::move(model.graph), text_ports(false, has_mask), model.unused);
    runnable.positions = model.positions;
    return runnable;
  }
  if (m.kind == "graph") {
    const MappedFile text = open_data(m.file);
    try {
      const Graph g = inference_graph(parse_graph(text_of(text.bytes())));
      return with(g, ports_of(g), {});
    } catch (const Error& e) {
      throw Error(Fault::input, fmt::format("{}: {}", printable(m.file), e.what()));
    }
  }
  return with(inference_graph(recipe_model(m)), {recipe_port(m)},
              is_for_images(m) ? image_model_unused() : std::vector<std::string>());
}

RunnableModel fused(RunnableModel model, const NamedValues<Tensor>& inputs) {
  std::vector<ModelInput> ports = model.inputs;
  for (ModelInput& p : ports) {
    const auto x = inputs.find(p.name);
    if (p.shape || x == inputs.end()) continue;
    p.dtype = x->second.dtype();
    p.shape.emplace();
    for (const Index n : x->second.shape()) p.shape->push_back({n, ""});
    if (!p.shape->empty()) p.shape->front().size.reset();
  }
  model.graph = fused_graph(model.graph, ports);
  return model;
}

Task task_of(const ModelSource& source, Recipe data, bool streams_weights) {
  if (!source.what.is_known()) fail_unknown(source);
  ModelRecipe model = source.what.model;
  model.weights = source.name;  // only for messages: the task gets the weights
  if (data.model.kind == model.kind && is_from_file(model) && model.output.empty())
    model.output = data.model.output;
  data.model = std::move(model);
  data.sparsity.clear();
  return Task(
      data, {.only_measures = true, .weights = source.weights, .streams_weights = streams_weights});
}

RunnableModel read_model(const ModelSource& source, const Task& task) {
  Graph g = without_loss(task.measured_graph());
  std::vector<ModelInput> inputs = ports_of(g);
  return {source.name, std::move(g), task.stored_weights(), std::move(inputs)};
}

}  // namespace sten
