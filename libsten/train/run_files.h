// Which files of a run's directory are the run's, by its own record: nothing else in it is ever
// replaced or removed, and what a recipe reads never is.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "libsten/base/json_reader.h"
#include "libsten/io/run_results.h"
#include "libsten/recipe/recipe.h"

namespace sten {

// The paths that a recipe reads, by their keys in it.
std::vector<std::pair<std::string, std::string>> inputs_of(const Recipe& r);
// The same of a recipe in a file. None where something is wrong with it, which those say who follow it.
std::vector<std::pair<std::string, std::string>> inputs_of(const std::string& file,
                                                           const Overrides& overrides);

class RunFiles {
 public:
  static constexpr const char* manifest_file = run_manifest_name;
  static constexpr const char* checkpoints_folder = run_checkpoints_name;
  static constexpr const char* onnx_file = "model.onnx";
  static constexpr const char* graph_file = "graph.json";
  // Of those, that of a model which is_from_file().
  static const char* model_file(const ModelRecipe& m) {
    return m.kind == "onnx" ? onnx_file : graph_file;
  }
  // Whether a run keeps something under that name at the top of its directory.
  static bool is_own_file(const std::string& name);

  // With what is recorded in the directory. `data` are names of the external data of an ONNX model,
  // which the run reads and writes. Error for a run.json that is not a record of a run, or
  // was changed.
  explicit RunFiles(std::string directory, std::vector<std::string> data = {});
  bool has_run() const { return has_run_; }

  // Before a run goes on or begins anew (`anew`) there: Error (usage) with the names of all files
  // of others in places that it writes to: those that no run recorded, and those that were changed
  // since; in checkpoints, where it begins anew, which removes them.
  void check_output_files(const Recipe& recipe, bool anew) const;
  // Error (usage) where what the recipe reads lies in one of those places, or they lie in it.
  void check_inputs(const Recipe& recipe) const;

  // About to be written; recorded when it returns.
  void claim(const std::string& name);
  // Written: from now on the file is the run's only while unchanged.
  void settle(const std::string& name);
  // With the facts of its record of state.
  void claim_checkpoint(Index step, nlohmann::ordered_json facts);
  // Error where a checkpoint has another record of state than it was written with.
  void check_checkpoint(Index step) const;

  const std::set<Index>& checkpoints() const { return checkpoints_; }
  std::string checkpoint(Index step) const;  // its directory
  // What was written to it. Files of others in it stay, and so does it then, with a warning.
  void remove_checkpoint(Index step);
  // All that was written; but the record, which then has nothing but itself.
  void remove_all();

 private:
  std::string path(const std::string& name) const;
  bool is_ours(const std::string& name) const;
  std::string state_of(Index step) const;
  bool has_own_state(Index step) const;
  std::vector<std::string> foreign_in(Index step, bool anew) const;
  void write() const;

  std::string directory_;
  std::vector<std::string> output_files_;  // the files at the top that the run may write
  std::vector<std::string> data_;
  bool has_run_ = false;
  nlohmann::ordered_json files_ = nlohmann::ordered_json::object();  // facts, or null until settled
  std::set<Index> checkpoints_;
  nlohmann::ordered_json states_ = nlohmann::ordered_json::object();  // facts by the step, as text
};

}  // namespace sten
