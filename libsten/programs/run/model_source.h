// SPDX-License-Identifier: Apache-2.0
// The source of a model to run: its graph and its weights.
#pragma once
#include <memory>

#include "libsten/core/base/device_spec.h"
#include "libsten/files/checkpoint/checkpoint.h"
#include "libsten/model/graph/graph.h"
#include "libsten/model/onnx/import.h"
#include "libsten/training/recipe/recipe.h"
#include "libsten/training/task/task.h"

namespace sten {

// A model to run, and how to run it.
struct ModelOptions {
  std::string path{};                    // see find_model()
  std::string config{};                  // describes weights alone; see describe_model()
  std::vector<std::string> layouts{};    // PATTERN=SPEC, or "auto"
  std::vector<std::string> precision{};  // see read_precision()
  // CUDA: moves weights and inputs to the device, where operators are not fused.
  DeviceSpec device{};
  int repeats = 0;       // timed runs of each batch
  bool explain = false;  // rows are the steps of the plan, not the outputs
};

// The description of a model that weights lack.
struct ModelDescription {
  ModelRecipe model;
  std::string vocabulary;  // the tokenizer's file; empty: none

  bool is_known() const { return !model.kind.empty(); }
};

struct ModelSource {
  std::string name;  // printable
  std::shared_ptr<const Checkpoint> weights;
  ModelDescription what;         // unknown for weights alone
  std::optional<Recipe> recipe;  // recipe that sten-train wrote to the directory
};

// Finds the model of `path`: an ONNX model; a directory with an ONNX model, a config.json or a
// graph.json; an output directory of sten-train; or weights alone, also from a pipe.
ModelSource find_model(const std::string& path);

// Reads a description: a recipe, a graph, an ONNX model or a Hugging Face config.json. Error with
// the file for other files.
ModelDescription describe_model(const std::string& file);
// Describes weights alone by the file `config`; no-op if empty. Error (usage) if the source has a
// description of its own.
void describe_by(const std::string& config, ModelSource& source);

// An input of the graph, with dtype and extents as far as known.
using ModelInput = GraphPort;

struct RunnableModel {
  std::string name;
  Graph graph;                  // for inference, without a loss
  NamedValues<Tensor> weights;  // in the layouts of the file
  std::vector<ModelInput> inputs;
  std::optional<Index> positions{};  // most tokens of a text, if there is a limit
};

// Builds the graph and reads the weights, for inputs that are given by name. `has_mask`: a language
// model gets an attention_mask. `last`: a GPT computes the logits of the last token only. Error
// (input) if the weights do not fit the graph.
RunnableModel read_model(const ModelSource& source, bool has_mask, bool last = false);

// Returns the task of a recipe's data with the source's model. The source must outlive the task.
// streams_weights: see TaskUse.
Task task_of(const ModelSource& source, Recipe data, bool streams_weights = false);
// Returns the task's graph up to the logits; the task makes the inputs.
RunnableModel read_model(const ModelSource& source, const Task& task);

// Returns the model with the fusions of fused_graph(). `inputs`: a batch, whose shapes, without the
// number of rows, are those of inputs that the model does not describe.
RunnableModel fused(RunnableModel model, const NamedValues<Tensor>& inputs = {});

}  // namespace sten
