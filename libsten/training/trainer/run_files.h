// SPDX-License-Identifier: Apache-2.0
// The files of a training run by its manifest. A run never replaces or removes other files, nor
// files that the recipe reads.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "libsten/core/base/json_reader.h"
#include "libsten/files/checkpoint/run_results.h"
#include "libsten/training/recipe/recipe.h"

namespace sten {

// The paths that a recipe reads, by key.
std::vector<std::pair<std::string, std::string>> inputs_of(const Recipe& r);
// The same for a recipe in a file. Empty for an invalid recipe, whose errors are reported later.
std::vector<std::pair<std::string, std::string>> inputs_of(const std::string& file,
                                                           const Overrides& overrides);

class RunFiles {
 public:
  static constexpr const char* manifest_file = run_manifest_name;
  static constexpr const char* checkpoints_folder = run_checkpoints_name;
  static constexpr const char* onnx_file = "model.onnx";
  static constexpr const char* graph_file = "graph.json";
  // The name of the copy of a model for which is_from_file() holds.
  static const char* model_file(const ModelRecipe& m) {
    return m.kind == "onnx" ? onnx_file : graph_file;
  }
  // Whether a run uses this name at the top of its directory.
  static bool is_own_file(const std::string& name);

  // Reads the directory's manifest. `data`: names of the external data of an ONNX model, which the
  // run reads and writes. Error if run.json is not a manifest of a run, or was changed.
  explicit RunFiles(std::string directory, std::vector<std::string> data = {});
  bool has_run() const { return has_run_; }

  // Called before a run is resumed or restarted. Error (usage) with the names of foreign files at
  // paths of the run: files that no run recorded, or that were changed since; on a restart also in
  // checkpoints, which it removes.
  void check_output_files(const Recipe& recipe, bool restarts) const;
  // Error (usage) if the recipe reads a path of the run, a file in it, or a directory that contains
  // it.
  void check_inputs(const Recipe& recipe) const;

  // Records a file before it is written.
  void claim(const std::string& name);
  // Records a written file, which belongs to the run while unchanged.
  void settle(const std::string& name);
  // Records a checkpoint with the size and checksum of its state's manifest.
  void claim_checkpoint(Index step, nlohmann::ordered_json facts);
  // Error if a checkpoint's manifest differs from the recorded one.
  void check_checkpoint(Index step) const;

  const std::set<Index>& checkpoints() const { return checkpoints_; }
  std::string checkpoint(Index step) const;  // path of its directory
  // Removes the run's files in the checkpoint. Foreign files stay with their directory, with a
  // warning.
  void remove_checkpoint(Index step);
  // Removes all files of the run but the manifest, which is emptied.
  void remove_all();

 private:
  std::string path(const std::string& name) const;
  bool is_ours(const std::string& name) const;
  std::string state_of(Index step) const;
  bool has_own_state(Index step) const;
  std::vector<std::string> foreign_in(Index step, bool restarts) const;
  void write() const;

  std::string directory_;
  std::vector<std::string> output_files_;  // top-level files that the run may write
  std::vector<std::string> data_;
  bool has_run_ = false;
  nlohmann::ordered_json files_ =
      nlohmann::ordered_json::object();  // facts of files, null until settled
  std::set<Index> checkpoints_;
  nlohmann::ordered_json states_ = nlohmann::ordered_json::object();  // facts by step, as text
};

}  // namespace sten
