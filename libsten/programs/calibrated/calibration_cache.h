// SPDX-License-Identifier: Apache-2.0
// sten-prune --calibration-cache: a directory with the state of a calibration, which a later run
// continues.
#pragma once
#include <optional>
#include <string>

#include "libsten/core/base/json.h"
#include "libsten/files/system/fd.h"
#include "libsten/programs/calibrated/calibration_identity.h"
#include "libsten/programs/calibrated/layer_file.h"
#include "libsten/training/trainer/activation_store.h"

namespace sten {

// Files of the directory: state.json, the pruned layers, and the activations at the last point. A
// killed run leaves those of its last point, with which the next one ends with the same bytes.
class CalibrationCache final : public ActivationStore {
 public:
  // Creates the directory, or reads its state. Error (usage) if the directory has other files, or
  // the state of another calibration, or if another process uses it.
  CalibrationCache(const std::string& directory, const CalibrationIdentity& identity,
                   std::size_t batches);

  WalkPoint begin() const override { return point_; }
  BatchActivations load(std::size_t batch) const override;
  void store(std::size_t batch, BatchActivations activations) override;
  void advance(const WalkPoint& point, bool can_resume) override;

  // The pruned layers; those that are added are part of the state after the next advance().
  LayerFile& layers() { return *layers_; }
  // Removes all files of a cache, and the directory if nothing else is in it.
  void clear();

 private:
  struct StoredTensor {
    std::size_t value = 0;
    bool is_pruned = false;
    DType dtype = DType::F32;
    Shape shape;
    std::uint64_t offset = 0;
  };
  struct Activations {
    std::string file;  // name in the directory; empty: none
    Fd fd;
    std::uint64_t size = 0;
    std::vector<std::vector<StoredTensor>> batches;
  };

  std::string path_of(const std::string& file) const;
  void check_files() const;
  // Returns the records of the layers.
  LayerRecords read_state(const nlohmann::ordered_json& state, std::size_t batches);
  std::string unused_file() const;
  void write_state() const;
  void begin_next();
  void remove(const std::string& file) const;

  std::string directory_, name_;  // name_: printable
  Fd lock_;
  nlohmann::ordered_json identity_;
  WalkPoint point_;
  Activations current_, next_;
  std::string saved_file_;  // activations that state.json refers to
  std::optional<LayerFile> layers_;
};

}  // namespace sten
