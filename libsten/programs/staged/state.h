// SPDX-License-Identifier: Apache-2.0
// The directory of a staged run. Each finished stage is whole or absent.
//
//   run.json                the options that decide the result
//   stage-000/ stage.json   the command's loss on the input, if reported
//   stage-001/ stage.json   results of the stage and checksums of
//              mask.safetensors
//              model.safetensors, or model/
//   curve.svg               loss by sparsity, after the last stage
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "libsten/files/checkpoint/checkpoint.h"
#include "libsten/files/system/fd.h"
#include "libsten/files/system/output_directory.h"
#include "libsten/programs/rewrite/rewrite.h"

namespace sten {

// The results of a stage.
struct StageManifest {
  std::string tensor;  // pruned in this stage, if only one
  double sparsity = 0, energy = 1;
  std::optional<double> loss_before, loss;  // as the command reported
  Index rounds = 1;                         // runs of the command
  Index violations = 0;                     // pruned positions that the command changed
  double seconds = 0;
  bool recovered = true;  // false: the run ends with this stage
};

class StateDirectory {
 public:
  // Opens the run in `path` with `resume`, else creates a run. A run without a finished stage is
  // started again. Error (usage) for a different `identity` (with the difference), for an existing
  // run without `resume`, and if another process uses the directory.
  StateDirectory(const std::string& path, const Options& identity, bool resume);

  // Checks as the constructor does, except for the identity; creates nothing. Error (usage) if the
  // curve of a new run would replace a file.
  static void check(const std::string& path, bool resume);
  // Whether a run uses this name in the directory.
  static bool is_own_file(const std::string& name);

  // The manifest of stage k; none if the stage is not finished. Error with the file if the manifest
  // or a file of the stage was changed.
  std::optional<StageManifest> manifest(std::size_t k) const;
  // The path of a file of a finished stage.
  std::string file(std::size_t k, const std::string& name) const;
  // Replaces the previous curve.
  void write_curve(const std::string& text) const;
  // Creates a stage, which is finished by its commit().
  std::unique_ptr<OutputDirectory> new_stage(std::size_t k) const;

 private:
  std::string path_;
  Fd lock_;
};

// Writes the manifest to a stage.
void write_manifest(const OutputDirectory& stage, const StageManifest& manifest);

// A hash of names, shapes, dtypes and bytes, independent of the division into files.
std::string content_hash(const Checkpoint& c);

}  // namespace sten
