// The state of a training run on disk.
//
//   model.safetensors   weights by their own names, masked ones dense; model.sten.safetensors where
//                       some are in another layout
//   masks.safetensors   of masked weights: BOOL, under their names
//   state.safetensors   optimizer.KEY.WEIGHT, score.WEIGHT
//   best.safetensors    the best weights so far, where they are kept and are not these
//   state.json          the rest, with the sizes and checksums of these files and its own
#pragma once
#include "libsten/io/output_directory.h"
#include "libsten/train/trainer.h"

namespace sten {

// What a run knows beside its trainer's state.
struct RunManifest {
  std::string data, first_weights;          // hashes of what it began with
  Measured validation_before, test_before;  // on the first weights
  std::optional<Index> best_step;           // steps done when the weights were best
  double best_loss = 0;                     // of the validation split then
  NamedValues<Tensor> best_weights;
  // The run's metrics.jsonl at that step.
  std::uint64_t metrics_bytes = 0;
  std::string metrics_hash{};
  int ranks = 1;                // that compute it
  Device device = Device::cpu;  // on which they do
  std::string teacher{};        // a hash of its weights; empty without a teacher
};

// What decides the bytes of a run beside its recipe and data.
struct RunMachine {
  std::string version, isa, products;  // `products`: who multiplies dense matrices
  int threads = 1, ranks = 1;
  std::string device{};  // "cuda"; empty: none
  static RunMachine here(int ranks = 1, Device device = Device::cpu);
  // What of it decides bits, for messages: "avx2, oneDNN 2.6.3, 2 threads", and ", 4 ranks" where
  // there are several, ", cuda" on a device.
  std::string text() const;
};

struct TrainCheckpoint {
  TrainState state;
  RunManifest manifest;
  RunMachine machine;
};

// The names of all files that a checkpoint may have; what tells that it is whole comes first.
const std::vector<std::string>& checkpoint_files();
// Into the directory, which the caller commits.
void write_checkpoint(const OutputDirectory& to, const Graph& g, const TrainState& state,
                      const RunManifest& manifest);
// Error with the file where it is not what was written for this model: where a file was changed,
// is gone or is new, by its checksum, and where what is in it does not fit. What it gives may
// borrow from the files.
TrainCheckpoint read_checkpoint(const std::string& directory, const Graph& g);

}  // namespace sten
