// SPDX-License-Identifier: Apache-2.0
// Recipe: a training run as a JSON document, with every default filled in. The schema is
// recipes/schema.json. Paths in the document are relative to its file, and absolute in this struct.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libsten/core/base/shape.h"
#include "libsten/core/base/spec.h"
#include "libsten/training/recipe/recovery.h"

namespace sten {

struct ModelRecipe {
  std::string kind;                 // mlp | resnet | wide-resnet | bert | gpt | onnx | graph
  std::vector<Index> sizes;         // mlp: extents of the input and of each layer's output
  std::string activation = "relu";  // mlp
  // resnet, wide-resnet: see ResNetConfig and WideResNetConfig.
  Index depth = 0, classes = 0, channels = 3;
  Index width = 1;                // default for resnet: 64
  std::string stem = "imagenet";  // resnet: imagenet | cifar
  double dropout = 0;             // wide-resnet, bert, decoder
  std::string config;             // bert, decoder: a Hugging Face config.json
  std::string file;               // onnx: the model; graph: the file of to_json(Graph)
  std::string output;             // onnx, graph: name of the logits; empty: the first output
  // onnx: train | frozen, see training.md; empty: train if the file was exported in training mode.
  std::string batch_norm;
  // Checkpoint of initial weights; empty: those of an ONNX model, else random by the seed.
  std::string weights;
};

inline bool is_for_images(const ModelRecipe& m) {
  return m.kind == "resnet" || m.kind == "wide-resnet";
}

// A model from a file, whose inputs have names.
inline bool is_from_file(const ModelRecipe& m) { return m.kind == "onnx" || m.kind == "graph"; }

// A causal language model; "gpt" is the older name.
inline bool is_decoder(const ModelRecipe& m) { return m.kind == "decoder" || m.kind == "gpt"; }

// A language model.
inline bool has_config(const ModelRecipe& m) { return m.kind == "bert" || is_decoder(m); }

// Of images in files, in training: see RandomResizedCrop.
struct RandomResizedCropRecipe {
  std::vector<double> scale{0.08, 1}, ratio{3.0 / 4, 4.0 / 3};  // from and to
};

struct DataRecipe {
  std::string kind;              // csv | arrays | cifar | images | shapes | masked-text |
                                 // labelled-text | labelled-words | text
  std::string file;              // csv, labelled-text, labelled-words
  std::string test_file;         // labelled-*: the test split; empty: a share of `file`
  std::string label = "last";    // csv: first | last | name of a column
  std::string features, labels;  // arrays: .npy or idx
  std::vector<Index> shape;      // csv and arrays: of a row, [height, width, channels]
  // For models from files. arrays: files by name of input; csv and arrays: the input of the
  // features, empty for a single input.
  std::map<std::string, std::string> inputs;
  std::string input;
  std::string folder;             // cifar: folder of .bin files; images: with a folder per class
  std::string test_folder;        // images: the test split; empty: a share of `folder`
  Index classes = 10;             // cifar: 10, 20 or 100
  Index count = 2000;             // shapes
  Index size = 0;                 // images and shapes: pixels per side
  Index resize = 0;               // images: shorter side before cropping to `size`; 0: size
  Index channels = 3;             // images: 1 or 3
  Index cache = 1024;             // images: most MiB of images that are held in memory
  Index noise = 48;               // shapes: see ShapesOptions
  std::vector<std::string> text;  // of text: UTF-8 files, for masked-text one; see read_documents()
  std::string vocabulary;         // of text: tokenizer (read_tokenizer)
  bool completion_only_loss = false;  // text: see DocumentOptions
  // labelled-text: text, label; labelled-words: tokens, labels.
  std::string text_column, pair_column, label_column;
  // Shares of rows or tokens; the rest is the test split. With a test file, the rest is not used,
  // and the default is to train on all rows.
  double train = 0.8, validation = 0.1;
  std::uint64_t split_seed = 0;   // seed of the split
  double scale = 1, shift = 0;    // csv and arrays: features become scale * x + shift
  std::vector<double> mean, std;  // of images [N, H, W, C], by channel: (x - mean) / std,
                                  // bytes scaled to [0, 1]; empty: 0 and 1
  Index crop_padding = 0;         // of images, in training: see Augmentation
  bool mirror = false;
  std::optional<RandomResizedCropRecipe> random_resized_crop;  // images
  Index window = 128;  // of text: tokens per window, or at most per row
  double predicted = 0.15, masked = 0.8, random = 0.1;  // masked-text: see MaskedTextOptions
  bool has_labels = true;  // not in JSON; false: calibration, also on rows without labels
};

// Data with named labels.
inline bool is_labelled(const DataRecipe& d) {
  return d.kind == "labelled-text" || d.kind == "labelled-words";
}

struct OptimizerRecipe {
  std::string kind = "adamw";  // adamw | sgd
  double rate = 1e-3;
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;  // adamw
  double momentum = 0;                            // sgd
  bool nesterov = false;                          // sgd
  double weight_decay = 0.01;                     // default for sgd: 0

  // The keys of a parameter's state after its first step, sorted: "step" is a scalar, any other has
  // a value for each of the parameter.
  std::vector<std::string_view> state_keys() const {
    if (kind == "adamw") return {"m", "step", "v"};
    if (momentum > 0) return {"momentum"};
    return {};
  }
  // The number of those values for each of the parameter.
  Index state_values() const {
    const auto keys = state_keys();
    return std::ranges::ssize(keys) - std::ranges::count(keys, "step");
  }
};

// Schedule of the learning rate; see rate_factor().
struct RateRecipe {
  std::string kind = "constant";  // constant | step | piecewise | cosine
  Index warmup = 0;
  Index every = 0;                                 // step: interval of multiplications by `factor`
  double factor = 0.1;                             // step
  std::vector<std::pair<Index, double>> points{};  // piecewise: factor from this step on
  double end = 0;                                  // cosine: the factor after the last step
  bool rewind = false;  // restart at each stage, until the next (Renda et al. 2020)
};

// Sparsity schedule of an entry; stages are spread evenly over the steps [begin, end).
struct ScheduleRecipe {
  std::string kind =
      "one-shot";    // one-shot | iterative | layer-wise | linear | cubic | exponential
  double from = 0;   // iterative, linear, cubic, exponential: initial sparsity
  double to = 0;     // final sparsity; default: the sparsifier's
  double step = 0;   // iterative: increment per stage
  Index stages = 0;  // linear, cubic, exponential
  std::vector<Spec> sparsifiers;  // iterative: one per stage instead; the last is the entry's
  Index begin = 0, end = 0;       // steps; default of end: the last step
  // layer-wise: "recovered": the next weight is pruned when the validation loss has recovered, by
  // `recovery`, and a weight that does not recover stays dense. Empty: at planned steps.
  std::string until;
  RecoveryRule recovery;

  bool prunes_until_recovered() const { return !until.empty(); }
};

// Mask updates during training, in steps begin + refresh, begin + 2 refresh, ... before `end`.
struct MaskRecipe {
  // fixed     masks change only at stages
  // refresh   all values are updated, pruned ones from 0, and the sparsifier selects again
  // regrow    drops the smallest kept values, and regrows as many, at 0, where gradients are
  //           largest (RigL, Evci et al. 2020)
  // straight-through  the forward pass uses the selected values of dense weights; all weights get
  //           gradients, with a decay of the unselected ones (SR-STE, Zhou et al. 2021)
  std::string kind = "fixed";
  Index refresh = 0;  // refresh, regrow: interval in steps
  Index end = 0;      // masks are fixed from this step on; default: the last step
  double share =
      0.3;  // regrow: initial share of the kept values; falls along a cosine to 0 at `end`
  double decay = 2e-4;  // straight-through: factor of unselected weights in their gradient
};

// Calibration instead of the sparsifier's choice at a stage: runs batches of the next steps through
// the model, and prunes layer by layer, each by its inputs in the pruned model.
struct CalibrationRecipe {
  std::string method;        // magnitude | wanda | ria | sparsegpt | admm: see CalibratedOptions
  Index rows = 64;           // minimum of rows or windows
  bool reconstruct = false;  // solve kept values again by least squares
  double damping = 0.01;
  std::string scope{};  // of magnitude: row | local (per weight); default: row for wanda
};

// Learned scores, from the schedule's begin to `end` (training/trainer/learned_scores.h).
struct ScoresRecipe {
  double rate = 0.01;  // the optimizer's rate for scores; scheduled as `rate`
  double penalty = 0;  // factor of the sum of the scores' penalties in the loss
  Index warmup = 0;    // steps in which the penalty rises from 0
  double initial = 0;  // initial score; default: the sparsifier's
  Index end = 0;       // masks are fixed from this step on; default: the last step
};

struct SparsityRecipe {
  std::string target;           // a name, glob or re: of weights; tensors of rank below 2 are
                                // unchanged (targets.h)
  Spec sparsifier;              // magnitude:sparsity=0.9, nmg:n=1,m=4,g=4, movement:sparsity=0.5...
  Spec layout{"masked"};        // in training
  Spec save{"dense"};           // in the final model
  std::string scope = "local";  // of the sparsifier: local (each weight) | global (all weights of
                                // the entry together, see GlobalSelection)
  ScheduleRecipe schedule;
  MaskRecipe mask;
  std::optional<CalibrationRecipe> calibration;
  std::optional<ScoresRecipe> scores;

  bool is_global() const { return scope == "global"; }
};

// Format of values or gradients in training: the four parts of OutFormat, in steps [begin, end).
struct FormatRecipe {
  std::string of;      // intermediate | weight-gradient | intermediate-gradient
  std::string target;  // a name, glob or re: of nodes or weights
  Spec inline_by{"keep-all"}, temporary{"dense"}, external{"keep-all"};
  Spec layout{"dense"};      // default: `temporary`
  Index begin = 0, end = 0;  // steps; default of end: the last step

  bool holds(Index step) const { return begin <= step && step < end; }
};

// Distillation from a dense teacher, besides the labels.
struct DistillationRecipe {
  std::string teacher;     // checkpoint of the same model; empty: model.weights
  double logits = 0.5;     // share of the divergence of logits in the loss; the rest is the labels'
  double temperature = 2;  // of the divergence (Hinton, Vinyals, Dean 2015)
  double hidden = 0;       // weight of the mean squared distance of hidden states
  std::string states;      // pattern of the graph's values; empty: outputs of the layers of a
                           // bert or gpt
};

// Low-rank adapters: the only trained values, merged into the weights of the final model.
struct LoraRecipe {
  std::string target;  // a name, glob or re: of matrices
  Index rank = 8;
  double alpha = 16;  // the factor of the product of both matrices is alpha / rank
};

// Gradient exchange between ranks (training/comm/communicator.h). One process only compresses.
struct ExchangeRecipe {
  std::string transport = "float32";  // float32 | bfloat16
  std::string overlap = "auto";       // during the backward pass: auto (if ranks are on
                                      // several machines) | always | never
  // Selects the values of gradients that a rank sends (training/trainer/compressed_exchange.h).
  Spec sparsifier{"keep-all"};
  bool error_feedback = true;  // values that are not sent are added to the next gradient
  Index begin = 0;             // gradients of earlier steps are sent whole

  bool compresses() const { return !sparsifier.is("keep-all"); }
};

struct EvaluationRecipe {
  Index every = 0;  // steps between evaluations; 0: only at the end
  Index batch = 64;
  bool keep_best = false;  // the final model is the one with the lowest validation loss
                           // after the full sparsity was reached
  bool test = true;        // measure the test split at the end
};

struct Recipe {
  std::string name;
  ModelRecipe model;
  DataRecipe data;
  std::string loss = "cross-entropy";
  double label_smoothing = 0;  // in training, as in PyTorch
  std::optional<DistillationRecipe> distillation;
  std::optional<LoraRecipe> lora;
  OptimizerRecipe optimizer;
  RateRecipe rate;
  Index steps = 0;  // of the optimizer; 0: by `epochs`
  Index epochs = 0;
  double scale = 0;  // factor of all numbers of steps, such as those of warm-up and stages; 0: 1
  Index batch = 32;  // rows or windows per step, over all parts
  Index accumulate = 1;                   // number of parts of a batch; divides it
  bool activation_checkpointing = false;  // less memory: values within layers are computed again

  double clip = 0;                       // maximum norm of all gradients together; 0: none
  double ema = 0;                        // decay of a moving average of weights, which is
                                         // is measured and saved; 0: none
  std::uint64_t seed = 0;                // of initial weights, batches, random sparsifiers
  std::string products;                  // onednn | openblas | own: dense library;
                                         // empty: the fastest, or that of the resumed run
  std::string device_products;           // float32 | tf32 | bfloat16: product precision of a device
                                         // in training; empty: float32
  std::vector<SparsityRecipe> sparsity;  // at most one entry per weight
  std::vector<FormatRecipe> formats;
  ExchangeRecipe exchange;
  EvaluationRecipe evaluation;
  Index checkpoint_every = 0;  // steps; 0: only the last
  Index keep_checkpoints = 2;
  Index log_every = 10;  // steps between lines of metrics.jsonl
};

// key=value: the path of a key with dots or as a JSON pointer, "optimizer.rate" or
// "/sparsity/0/save"; the value is JSON, or else a string; null removes the key. The index after
// the last appends to a list. Paths of files are relative to the working directory.
using Overrides = std::vector<std::string>;

// Parses a recipe; reads no other file. Error (usage) with the key: "digits.json:
// /sparsity/0/schedule/to: 1.4 is not within [0, 1]", or "--set: /batch: ...". Unknown keys (with
// the nearest valid one), and keys of another kind, are errors.
Recipe parse_recipe(std::string_view json, const std::string& file,
                    const Overrides& overrides = {});
Recipe read_recipe(const std::string& path, const Overrides& overrides = {});

// Resolves a recipe whose `epochs` made its length unknown until the data were read: sets the
// steps, clears epochs, multiplies all numbers of steps by `scale`, which becomes 0, and fills in
// open ends. Error (usage) with all keys, as "/sparsity/0/schedule/end: ...", for values that do
// not fit into the steps. parse_recipe() does this for recipes with steps.
Recipe in_steps(Recipe r, Index steps);

// The resolved recipe as JSON; parse_recipe() of the result is the same recipe.
std::string to_json(const Recipe& r);

}  // namespace sten
