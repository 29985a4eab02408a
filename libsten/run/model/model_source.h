// Where a model to be run comes from: what computes, and its weights.
#pragma once
#include <memory>

#include "libsten/graph/graph.h"
#include "libsten/io/checkpoint.h"
#include "libsten/onnx/import.h"
#include "libsten/recipe/recipe.h"
#include "libsten/train/task.h"

namespace sten {

// What a checkpoint does not say of itself.
struct ModelDescription {
  ModelRecipe model;
  std::string vocabulary;  // the tokenizer's file beside them; empty: none

  bool is_known() const { return !model.kind.empty(); }
};

struct ModelSource {
  std::string name;  // printable
  std::shared_ptr<const Checkpoint> weights;
  ModelDescription what;         // unknown of weights alone
  std::optional<Recipe> recipe;  // what sten-train left beside them
};

// `path` is an ONNX model; a directory with one, with a config.json, or with a graph.json; what
// sten-train leaves; or weights alone, also from a pipe.
ModelSource find_model(const std::string& path);

// Of a file that says what weights are: a recipe, a graph, an ONNX model, or a HuggingFace config.json.
// Error with the file where it is none of them.
ModelDescription describe_model(const std::string& file);
// The same of `config`, unless that is empty, for a source of weights alone. Error (usage) where the
// source says itself what it is.
void describe_by(const std::string& config, ModelSource& source);

// An input of the graph, and what is known of it.
using ModelInput = OnnxPort;

struct RunnableModel {
  std::string name;
  Graph graph;                  // for inference, without a loss
  NamedValues<Tensor> weights;  // in the layouts of the file
  std::vector<ModelInput> inputs;
};

// For inputs that are given by name. `has_mask`: a model of text takes an attention_mask; `last`: a
// GPT has the logits of the last token alone. Error (input) where the weights do not fit.
RunnableModel read_model(const ModelSource& source, bool has_mask, bool last = false);

// For the data of a recipe, whose model is replaced by the source's. The source outlives the task.
Task task_of(const ModelSource& source, Recipe data);
// What the task measures, up to its logits; the task gives the inputs.
RunnableModel read_model(const ModelSource& source, const Task& task);

}  // namespace sten
