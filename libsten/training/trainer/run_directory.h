// SPDX-License-Identifier: Apache-2.0
// Output directory of a training run.
//
//   run.json                    output manifest: files of the run, with checksums
//   recipe.json                 the resolved recipe, which --resume reads
//   metrics.jsonl               a JSON object per line: logged steps and evaluations
//   checkpoints/step-000200/    after so many steps, whole or absent; see checkpoint.h
//
// Written at the end: model.safetensors (model.sten.safetensors with sparse tensors), summary.json,
// curve.svg; for a BERT config.json and vocab.json, as in a Hugging Face directory; for an ONNX
// model model.onnx and its external data.
#pragma once
#include <optional>

#include "libsten/files/system/fd.h"
#include "libsten/training/trainer/checkpoint.h"
#include "libsten/training/trainer/run_files.h"

namespace sten {

// A line of metrics.jsonl.
struct MetricsLine {
  Index step = 0;     // steps done
  std::string split;  // of an evaluation: validation or test; empty: the last step's batch
  double loss = 0, sparsity = 0, seconds = 0;
  std::optional<double> rate, norm, accuracy, f1{};
  bool has_loss = true;  // false: the batch had no predictions
};

enum class RunMode { fresh, resume, replace };

class RunDirectory {
 public:
  // Opens the directory. RunMode::fresh: Error (usage) if it has a run or foreign files. resume:
  // continues its run, or starts one; Error (usage) with the first difference for another recipe.
  // replace: removes the files of the previous run by its manifest, but no foreign files. Error
  // (usage) if another process uses the directory, if foreign files are at paths of the run's
  // files, and if the recipe reads one of these paths. `data`: see RunFiles.
  RunDirectory(const std::string& path, const Recipe& recipe, RunMode mode,
               std::vector<std::string> data = {});

  // Makes the constructor's checks on existing files, and changes nothing. Without a path, checks
  // only the recipe.
  static void check(const std::string& path, const Recipe& recipe, RunMode mode,
                    const std::vector<std::string>& data = {});

  // The last checkpoint; none before the first.
  std::optional<TrainCheckpoint> last_checkpoint(const Graph& g) const;
  // Adds a checkpoint; removes the oldest ones beyond `keep`.
  void add_checkpoint(const Graph& g, const TrainState& state, const RunManifest& manifest,
                      Index keep);

  // Cuts the lines after a checkpoint, or all lines. Error if the lines before the checkpoint were
  // changed.
  void cut_metrics(const RunManifest* checkpoint);
  void log(const MetricsLine& line);
  std::vector<MetricsLine> metrics() const;

  // Replaces the run's file of this name.
  void write(const std::string& name, const std::string& text);
  // Writes the final model, each weight in its layout; returns the path. `in_by_out`: transposes
  // the matrices that files store as [in, out], unless a weight is sparse. `others`: as in
  // save_weights().
  std::string write_model(const Graph& g, const NamedValues<Tensor>& weights,
                          std::vector<std::pair<std::string, std::string>> metadata, bool in_by_out,
                          const NamedValues<Tensor>& others);
  // Writes the recipe's ONNX model with these dense weights, and its external data; returns the
  // path.
  std::string write_onnx(const Graph& g, const NamedValues<Tensor>& weights,
                         const Checkpoint& model);
  std::string path(const std::string& name) const;
  // The path of the checkpoint after `step` steps.
  std::string checkpoint(Index step) const;

 private:
  void begin(const Recipe& recipe, RunMode mode);
  // Steps of the whole checkpoints, ascending.
  std::vector<Index> checkpoints() const;
  // Removes all checkpoints but the last `keep`, and incomplete ones.
  void remove_checkpoints(Index keep);

  std::string path_;
  std::vector<std::string> data_;
  Fd lock_;
  std::optional<RunFiles> files_;
  Fd metrics_;
};

}  // namespace sten
