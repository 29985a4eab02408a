// SPDX-License-Identifier: Apache-2.0
// Checkpoint of a training run:
//
//   model.safetensors   weights by name, masked ones as dense; model.sten.safetensors if some have
//                       another layout
//   masks.safetensors   masks of masked weights: BOOL, by name
//   state.safetensors   optimizer.KEY.WEIGHT, score.WEIGHT, before.KEY.WEIGHT (RecoveryState),
//                       residual.RANK.WEIGHT
//   best.safetensors    the best weights so far, if kept and different from the model
//   state.json          all else, with sizes and checksums of these files and its own
#pragma once
#include "libsten/files/system/output_directory.h"
#include "libsten/training/task/task.h"
#include "libsten/training/trainer/train_state.h"

namespace sten {

// The state of a run apart from the trainer's.
struct RunManifest {
  std::string data, first_weights;          // hashes of the data and initial weights
  Measured validation_before, test_before;  // of the initial weights
  std::optional<Index> best_step;           // steps done at the best weights
  double best_loss = 0;                     // of the validation split at that step
  NamedValues<Tensor> best_weights;
  // Size of the run's metrics.jsonl at this step.
  std::uint64_t metrics_bytes = 0;
  std::string metrics_hash{};
  int ranks = 1;                // of the run
  Device device = Device::cpu;  // of the run
  std::string teacher{};        // hash of the teacher's weights; empty without a teacher
};

// The conditions, besides recipe and data, that decide the bytes of a run.
struct RunMachine {
  std::string version, isa, products;  // `products`: library of dense products
  int threads = 1, ranks = 1;
  std::string device{};  // "cuda"; empty: none
  static RunMachine here(int ranks = 1, Device device = Device::cpu);
  // Text for messages: "avx2, oneDNN 2.6.3, 2 threads", with ", 4 ranks" for several ranks and ",
  // cuda" on a device.
  std::string text() const;
};

struct TrainCheckpoint {
  TrainState state;
  RunManifest manifest;
  RunMachine machine;
};

// All files that a checkpoint may have, starting with the manifest, which marks it as whole.
const std::vector<std::string>& checkpoint_files();
// Writes a checkpoint to a directory, which the caller commits.
void write_checkpoint(const OutputDirectory& to, const Graph& g, const TrainState& state,
                      const RunManifest& manifest);
// Reads a checkpoint. Error with the file if a file is missing, new or changed (by its checksum),
// or does not fit the model. The result may borrow from the files.
TrainCheckpoint read_checkpoint(const std::string& directory, const Graph& g);

}  // namespace sten
