// The directory that keeps a staged run: what it is, and every finished stage, whole or absent.
//
//   run.json                what decides the result
//   stage-000/ stage.json   the command's loss on the input, if it tells one
//   stage-001/ stage.json   what came of the stage; and the checksums of
//              mask.safetensors
//              model.safetensors, or model/
//   curve.svg               loss against sparsity, when all stages are done
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "libsten/io/checkpoint.h"
#include "libsten/io/fd.h"
#include "libsten/io/output_directory.h"
#include "libsten/run/rewrite.h"

namespace sten {

// What came of a stage.
struct StageManifest {
  std::string tensor;  // the one that was pruned in it, where it was one
  double sparsity = 0, energy = 1;
  std::optional<double> loss_before, loss;  // as the command told them
  Index rounds = 1;                         // times the command ran
  Index violations = 0;                     // pruned positions it had changed
  double seconds = 0;
  bool recovered = true;  // false: the run ends here
};

class StateDirectory {
 public:
  // A new run, or the one that is there if `resume`; one without a finished stage is begun anew.
  // Error (usage) where that has another `identity` (names what differs), where there is a run and
  // `resume` is false, and where another process is at work in it.
  StateDirectory(const std::string& path, const Options& identity, bool resume);

  // Error as from the constructor, as far as it does not take the identity; makes nothing. Error
  // (usage) where a new run's curve would replace a file.
  static void check(const std::string& path, bool resume);
  // Whether a run keeps something under that name in the directory.
  static bool is_own_file(const std::string& name);

  // What is recorded of stage k; none if it was not finished. Error with the file where the record
  // or what is in the stage was changed since.
  std::optional<StageManifest> manifest(std::size_t k) const;
  // Where files of a finished stage are.
  std::string file(std::size_t k, const std::string& name) const;
  // In place of the one of before.
  void write_curve(const std::string& text) const;
  // A stage to be filled; it counts from its commit() on.
  std::unique_ptr<OutputDirectory> new_stage(std::size_t k) const;

 private:
  std::string path_;
  Fd lock_;
};

// Puts the record into a stage.
void write_manifest(const OutputDirectory& stage, const StageManifest& manifest);

// Of names, shapes, dtypes and all bytes: equal for equal content, whatever files it is in.
std::string content_hash(const Checkpoint& c);

}  // namespace sten
