// The directory that keeps a training run, which can be resumed from it.
//
//   run.json                    which of these files the run wrote, with their checksums
//   recipe.json                 with every default; what --resume goes by
//   metrics.jsonl               a JSON object a line: of logged steps, and of evaluations
//   checkpoints/step-000200/    after so many steps, whole or absent; see checkpoint.h
//
// and when all is done: model.safetensors (model.sten.safetensors with compressed tensors),
// summary.json, curve.svg, for a BERT config.json and vocab.json, so that it is a HuggingFace
// directory, and for an ONNX model model.onnx with its external data.
#pragma once
#include <optional>

#include "libsten/io/fd.h"
#include "libsten/train/checkpoint.h"
#include "libsten/train/run_files.h"

namespace sten {

// A line of metrics.jsonl.
struct MetricsLine {
  Index step = 0;     // steps done
  std::string split;  // of an evaluation: validation or test; empty: the batch of the last step
  double loss = 0, sparsity = 0, seconds = 0;
  std::optional<double> rate, norm, accuracy, f1{};
};

enum class RunMode { fresh, resume, replace };

class RunDirectory {
 public:
  // fresh: Error (usage) where the directory has a run or other files. resume: goes on with the run
  // that is there, or begins; Error (usage) that names the first difference where it is another
  // recipe's. replace: what a run wrote there, by its record, goes first; files of others stay.
  // Error (usage) where another process is at work in it, where files of others are in places that
  // the run writes to, and where one of those places is what the recipe reads. `data`: see RunFiles.
  RunDirectory(const std::string& path, const Recipe& recipe, RunMode mode,
               std::vector<std::string> data = {});

  // Error as from the constructor, from what is there already; makes and changes nothing. Without
  // a path it looks at the recipe alone.
  static void check(const std::string& path, const Recipe& recipe, RunMode mode,
                    const std::vector<std::string>& data = {});

  // Of the last checkpoint; none before the first.
  std::optional<TrainCheckpoint> last_checkpoint(const Graph& g) const;
  // Beside those that are there; the oldest beyond `keep` go.
  void add_checkpoint(const Graph& g, const TrainState& state, const RunManifest& manifest,
                      Index keep);

  // To go on after a checkpoint, or from the beginning: later lines are cut off. Error where those
  // up to it were changed since.
  void cut_metrics(const RunManifest* checkpoint);
  void log(const MetricsLine& line);
  std::vector<MetricsLine> metrics() const;

  // In place of the run's file of that name.
  void write(const std::string& name, const std::string& text);
  // The final model, each weight in its layout; the path. `in_by_out`: matrices that files have so
  // are turned back, unless a weight is sparse. `others` are as for save_weights().
  std::string write_model(const Graph& g, const NamedValues<Tensor>& weights,
                          std::vector<std::pair<std::string, std::string>> metadata, bool in_by_out,
                          const NamedValues<Tensor>& others);
  // The recipe's ONNX model with these weights, which it has dense, and its external data; the path.
  std::string write_onnx(const Graph& g, const NamedValues<Tensor>& weights,
                         const Checkpoint& model);
  std::string path(const std::string& name) const;
  // Of the checkpoint after so many steps.
  std::string checkpoint(Index step) const;

 private:
  void begin(const Recipe& recipe, RunMode mode);
  // Steps of the whole checkpoints, ascending.
  std::vector<Index> checkpoints() const;
  // All but the last `keep`, and what is left of those that were not removed to their end.
  void remove_checkpoints(Index keep);

  std::string path_;
  std::vector<std::string> data_;
  Fd lock_;
  std::optional<RunFiles> files_;
  Fd metrics_;
};

}  // namespace sten
