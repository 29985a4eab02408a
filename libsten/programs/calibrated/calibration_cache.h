// SPDX-License-Identifier: Apache-2.0
// sten-prune --calibration-cache: a directory with the state of a calibration, which a later run
// continues.
#pragma once
#include <memory>
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
  BatchActivations load(WalkedModel model, std::size_t batch) const override;
  void store(WalkedModel model, std::size_t batch, BatchActivations activations) override;
  void advance(const std::optional<WalkPoint>& resumed) override;
  void begin_dense() override { dense_.current = pruned_.current; }

  // The pruned layers; those that are added are part of the state after the next advance().
  LayerFile& layers() { return *layers_; }
  // Removes all files of a cache, and the directory if nothing else is in it.
  void clear();

 private:
  struct StoredTensor {
    std::size_t value = 0;
    DType dtype = DType::F32;
    Shape shape;
    std::uint64_t offset = 0;
  };
  // A file of activations; it is removed with its last user unless state.json refers to it.
  struct Activations {
    Activations(std::string path, int flags, std::size_t batches);
    ~Activations();
    Activations(const Activations&) = delete;
    Activations& operator=(const Activations&) = delete;

    std::string path;
    Fd fd;
    std::uint64_t size = 0;
    std::vector<std::vector<StoredTensor>> batches;
    bool is_kept = false;
  };
  struct Model {
    // saved: those that state.json refers to; next: those at the next point. Null: none.
    std::shared_ptr<Activations> saved, current, next;
  };

  Model& of(WalkedModel model) { return model == WalkedModel::pruned ? pruned_ : dense_; }
  const Model& of(WalkedModel model) const {
    return model == WalkedModel::pruned ? pruned_ : dense_;
  }
  std::string path_of(const std::string& file) const;
  void check_files() const;
  // Returns the records of the layers.
  LayerRecords read_state(const nlohmann::ordered_json& state);
  std::shared_ptr<Activations> read_activations(const nlohmann::ordered_json& state) const;
  bool is_used(const std::string& path) const;
  std::string unused_path() const;
  void remove_unused() const;
  void write_state() const;

  std::string directory_, name_;  // name_: printable
  Fd lock_;
  nlohmann::ordered_json identity_;
  std::size_t batches_;
  WalkPoint point_;  // where a later walk begins
  Model pruned_, dense_;
  std::optional<LayerFile> layers_;
};

}  // namespace sten
