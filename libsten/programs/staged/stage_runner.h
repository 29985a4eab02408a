// SPDX-License-Identifier: Apache-2.0
// Stages of sten-prune --schedule: each prunes, trains, and masks the trained weights.
#pragma once
#include "libsten/programs/staged/stage_trainer.h"
#include "libsten/programs/staged/staged_plan.h"
#include "libsten/programs/staged/state.h"

namespace sten {

inline constexpr const char* stage_mask_file = "mask.safetensors";

class StageRunner {
 public:
  // Keeps references to all arguments.
  StageRunner(const StagedPlan& plan, const StageTrainer& trainer, const StateDirectory& state)
      : plan_(plan), trainer_(trainer), state_(state) {}

  // Returns the manifest of stage k, which runs unless it is finished. Stage 0 measures the loss on
  // the input, to which layers must recover.
  StageManifest run(std::size_t k);
  const std::optional<double>& first_loss() const { return first_loss_; }
  // The path of the model after stage k.
  std::string model_of(std::size_t k) const;
  // The sparsity of a report over all selected tensors, including those of later stages.
  double sparsity_of(const Report& r) const;

 private:
  StageManifest new_stage(std::size_t k);
  StageManifest prune_stage(std::size_t k, const OutputDirectory& dir);
  // Over all selected tensors of the input. Tensors without a mask are whole; the energy ignores NaN
  // and infinity.
  struct MaskTotals {
    double energy = 1;    // of the input under the masks
    double sparsity = 0;  // pruned positions, over all elements
  };
  MaskTotals totals_of(const std::string& mask_path) const;
  // Sets pruned positions to zero again. Returns the path of the resulting model, whose sparsity is
  // then that of the stage.
  std::string reapply(StageManifest& r, const OutputDirectory& dir, const std::string& trained);

  const StagedPlan& plan_;
  const StageTrainer& trainer_;
  const StateDirectory& state_;
  std::optional<double> first_loss_;
};

}  // namespace sten
