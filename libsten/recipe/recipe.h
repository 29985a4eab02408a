// What a training run does, as data: a recipe's JSON document with every default filled in. The
// schema is recipes/schema.json; paths are relative to the recipe's file, and absolute in here.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libsten/base/shape.h"
#include "libsten/base/spec.h"

namespace sten {

struct ModelRecipe {
  std::string kind;                 // mlp | resnet | wide-resnet | bert | gpt | onnx | graph
  std::vector<Index> sizes;         // mlp: of the input, of each layer's output
  std::string activation = "relu";  // mlp
  // resnet, wide-resnet: ResNetConfig and WideResNetConfig.
  Index depth = 0, classes = 0, channels = 3;
  Index width = 1;                // of resnet 64 where it is not said
  std::string stem = "imagenet";  // resnet: imagenet | cifar
  double dropout = 0;             // wide-resnet, bert, gpt
  std::string config;             // bert, gpt: a HuggingFace config.json
  std::string file;               // onnx: the model; graph: to_json(Graph)
  std::string output;             // onnx, graph: the logits; empty: the first output
  // A checkpoint to begin with; empty: the model's own of an ONNX model, else initial weights by the
  // seed.
  std::string weights;
};

inline bool is_for_images(const ModelRecipe& m) {
  return m.kind == "resnet" || m.kind == "wide-resnet";
}

// What is in a file, and takes inputs that have names.
inline bool is_from_file(const ModelRecipe& m) { return m.kind == "onnx" || m.kind == "graph"; }

// Of text.
inline bool has_config(const ModelRecipe& m) { return m.kind == "bert" || m.kind == "gpt"; }

struct DataRecipe {
  std::string kind;              // csv | arrays | cifar | images | shapes | masked-text |
                                 // labelled-text | labelled-words | text
  std::string file;              // csv, labelled-text, labelled-words
  std::string test_file;         // of the latter two: the test split; empty: a share of `file`
  std::string label = "last";    // csv: first | last | a column's name
  std::string features, labels;  // arrays: .npy or idx
  std::vector<Index> shape;      // csv and arrays: of a row, [height, width, channels]
  // Of models from files. arrays: files by the inputs of the model that they are for; csv and
  // arrays: the input that features are for, empty for a single input.
  std::map<std::string, std::string> inputs;
  std::string input;
  std::string folder;            // cifar: the .bin files; images: a folder for each class
  std::string test_folder;       // images: the test split; empty: a share of `folder`
  Index classes = 10;            // cifar: 10, 20 or 100
  Index count = 2000;            // shapes
  Index size = 0;                // images and shapes: pixels a side
  Index resize = 0;              // images: the shorter side before `size` is cut out; 0: size
  Index channels = 3;            // images: 1 or 3
  Index noise = 48;              // shapes: see ShapesOptions
  std::string text, vocabulary;  // of text: UTF-8, and a tokenizer (read_tokenizer)
  // labelled-text: text, label; labelled-words: tokens, labels.
  std::string text_column, pair_column, label_column;
  // Shares of rows or characters; the rest is the test split. Where there are files to test on, what
  // is left is not used, and all rows are trained on if nothing is said.
  double train = 0.8, validation = 0.1;
  std::uint64_t split_seed = 0;   // which rows are in which split
  double scale = 1, shift = 0;    // csv and arrays: features become scale * x + shift
  std::vector<double> mean, std;  // of images [N, H, W, C], by channel: (x - mean) / std of that,
                                  // or of bytes as 0 to 1; empty: 0 and 1
  Index crop_padding = 0;         // of images, in training: see Augmentation
  bool mirror = false;
  Index window = 128;                                   // of text: tokens, at most of a row
  double predicted = 0.15, masked = 0.8, random = 0.1;  // masked-text: see MaskedTextOptions
  bool has_labels = true;  // not of a file; false: calibration, which takes rows without labels too
};

// Of classes that have names.
inline bool is_labelled(const DataRecipe& d) {
  return d.kind == "labelled-text" || d.kind == "labelled-words";
}

struct OptimizerRecipe {
  std::string kind = "adamw";  // adamw | sgd
  double rate = 1e-3;
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;  // adamw
  double momentum = 0;                            // sgd
  bool nesterov = false;                          // sgd
  double weight_decay = 0.01;                     // 0 where it is not said of sgd
};

// The learning rate of step t = 0, 1, ... as a factor of the optimizer's; steps < warmup get
// (t + 1) / warmup of it.
struct RateRecipe {
  std::string kind = "constant";  // constant | step | piecewise | cosine
  Index warmup = 0;
  Index every = 0;                                 // step: times `factor` after each so many
  double factor = 0.1;                             // step
  std::vector<std::pair<Index, double>> points{};  // piecewise: factor from that step on
  double end = 0;                                  // cosine: the factor after the last step
  bool rewind = false;  // from the beginning at each stage, up to the next (Renda et al. 2020)
};

// How an entry's sparsity comes about; stages are spread evenly over the steps [begin, end).
struct ScheduleRecipe {
  std::string kind =
      "one-shot";    // one-shot | iterative | layer-wise | linear | cubic | exponential
  double from = 0;   // iterative, linear, cubic, exponential: sparsity of the start
  double to = 0;     // and of the end: filled in as the sparsifier's
  double step = 0;   // iterative: more of it with each stage
  Index stages = 0;  // linear, cubic, exponential
  std::vector<Spec> sparsifiers;  // iterative: one a stage instead, the last being the entry's
  Index begin = 0, end = 0;       // steps; end is filled in as all of them
};

// How masks change while training: on steps begin + refresh, begin + 2 refresh, ... before `end`.
struct MaskRecipe {
  // fixed     only a stage changes them
  // refresh   all positions are updated, pruned ones from 0, and the sparsifier selects anew
  // regrow    the smallest of what is kept goes, and as much comes back as 0 where gradients are
  //           largest (RigL, Evci et al. 2020)
  // straight-through  all weights stay, and those that the sparsifier selects compute; gradients go
  //           to all, with a pull to 0 on the others (SR-STE, Zhou et al. 2021)
  std::string kind = "fixed";
  Index refresh = 0;  // refresh, regrow: steps
  Index end = 0;      // no new mask from this step on; filled in as the last step
  double share =
      0.3;  // regrow: of what is kept, at the begin; it falls as a cosine to 0 at the end
  double decay = 2e-4;  // straight-through: times a weight that does not compute, in its gradient
};

// What chooses in the sparsifier's place when a stage begins, by what goes into the layers: batches
// of the next steps run through the model, layer after layer, with what is pruned by then.
struct CalibrationRecipe {
  std::string method;        // magnitude | wanda | ria | sparsegpt | admm: see CalibratedOptions
  Index rows = 64;           // or windows, at least
  bool reconstruct = false;  // values are solved anew, so that outputs stay
  double damping = 0.01;
  std::string scope{};  // of magnitude: row | local (each weight); filled in: row for wanda
};

// Scores that are trained with the weights, and say how these compute from the schedule's begin to
// `end` (train/learned_scores.h).
struct ScoresRecipe {
  double rate = 0.01;  // the optimizer's, for scores; `rate` multiplies it, too
  double penalty = 0;  // the loss gets so many times the sum of what scores cost
  Index warmup = 0;    // steps in which that rises from 0
  double initial = 0;  // of each score; filled in: the sparsifier's
  Index end = 0;       // from this step on the mask is fixed; filled in as the last step
};

struct SparsityRecipe {
  std::string target;     // a name, glob or re: of weights; what matches of rank below 2 is
                          // left unchanged (targets.h)
  Spec sparsifier;        // magnitude:sparsity=0.9, nmg:n=1,m=4,g=4, movement:sparsity=0.5...
  Spec layout{"masked"};  // while training
  Spec save{"dense"};     // in the final model
  ScheduleRecipe schedule;
  MaskRecipe mask;
  std::optional<CalibrationRecipe> calibration;
  std::optional<ScoresRecipe> scores;
};

// How values of the model, or gradients, are sparsified and stored while it trains: the four parts
// of OutFormat, from step `begin` on, before `end`.
struct FormatRecipe {
  std::string of;      // intermediate | weight-gradient | intermediate-gradient
  std::string target;  // a name, glob or re: of nodes of the model, or of weights
  Spec inline_by{"keep-all"}, temporary{"dense"}, external{"keep-all"};
  Spec layout{"dense"};      // filled in: as `temporary`
  Index begin = 0, end = 0;  // steps; end is filled in as all of them

  bool holds(Index step) const { return begin <= step && step < end; }
};

// A dense model whose outputs are learned from, beside the labels.
struct DistillationRecipe {
  std::string teacher;     // a checkpoint of the same model; empty: model.weights
  double logits = 0.5;     // share of the divergence from its logits; the rest is of the labels
  double temperature = 2;  // of that (Hinton, Vinyals, Dean 2015)
  double hidden = 0;       // weight of the squared distance of hidden states, a mean over these
  std::string states;      // a pattern of the graph's values; empty: the outputs of layers of a
                           // bert or gpt
};

// How ranks sum their gradients (comm/communicator.h). One process does not.
struct ExchangeRecipe {
  std::string transport = "float32";  // float32 | bfloat16
  std::string overlap = "auto";       // while others are still computed: auto (where ranks are on
                                      // several machines) | always | never
};

struct EvaluationRecipe {
  Index every = 0;  // steps between evaluations; 0: at the end alone
  Index batch = 64;
  bool keep_best = false;  // the final model is the one with the lowest validation loss
                           // among those evaluated when all sparsity had been reached
  bool test = true;        // measure the test split at the end
};

struct Recipe {
  std::string name;
  ModelRecipe model;
  DataRecipe data;
  std::string loss = "cross-entropy";
  double label_smoothing = 0;  // of it in training, as PyTorch's
  std::optional<DistillationRecipe> distillation;
  OptimizerRecipe optimizer;
  RateRecipe rate;
  Index steps = 0;  // of the optimizer; 0: `epochs` decide
  Index epochs = 0;
  double scale = 0;      // times all numbers of steps, such as those of warm-up and stages; 0: by 1
  Index batch = 32;      // rows or windows of a step, all accumulated ones together
  Index accumulate = 1;  // parts a batch is computed in; divides it
  double clip = 0;       // the largest norm of all gradients together; 0: any
  double ema = 0;        // the decay of a moving average of weights, which is what
                         // is measured and saved; 0: none
  std::uint64_t seed = 0;       // of initial weights, batches, random sparsifiers
  std::string products;         // onednn | openblas | own: multiplies dense matrices;
                                // empty: the faster one, or that of the resumed run
  std::string device_products;  // float32 | tf32 | bfloat16: what a device may round factors
                                // of dense products to in training; empty: float32
  std::vector<SparsityRecipe> sparsity;  // a weight has at most one
  std::vector<FormatRecipe> formats;
  ExchangeRecipe exchange;
  EvaluationRecipe evaluation;
  Index checkpoint_every = 0;  // steps; 0: none but the last
  Index keep_checkpoints = 2;
  Index log_every = 10;  // steps between lines of metrics.jsonl
};

// key=value: the key's path with dots or as a JSON pointer, "optimizer.rate" or "/sparsity/0/save";
// the value is JSON, or else a text; null takes the key away. Lists grow by the index after their
// last. Paths of files in values are relative to the working directory.
using Overrides = std::vector<std::string>;

// Error (usage) with the place: "digits.json: /sparsity/0/schedule/to: 1.4 is not within [0, 1]",
// or "--set: /batch: ..."; unknown keys are refused with the nearest valid one, and those of
// another kind. No file is looked at but the recipe.
Recipe parse_recipe(std::string_view json, const std::string& file,
                    const Overrides& overrides = {});
Recipe read_recipe(const std::string& path, const Overrides& overrides = {});

// The recipe where the number of its steps is known, which `epochs` leave open until data are read:
// it has steps, no epochs, all numbers of steps are multiplied by `scale`, which is 0 then, and ends
// that were left open are filled in. Error (usage) with all places, as "/sparsity/0/schedule/end: ...",
// where something does not fit into the steps.
// parse_recipe() does it where it is said how many there are.
Recipe in_steps(Recipe r, Index steps);

// With every default, so that parse_recipe() of it is the same recipe.
std::string to_json(const Recipe& r);

}  // namespace sten
