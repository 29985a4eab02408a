// SPDX-License-Identifier: Apache-2.0
// Stubs of staged pruning, calibration, removal of modules and extensions, for a sten-prune that is
// built before them.
#include "libsten/core/base/error.h"
#include "libsten/core/dispatch/load_extension.h"
#include "libsten/programs/calibrated/layers_of_file.h"
#include "libsten/programs/calibrated/layers_of_model.h"
#include "libsten/programs/drop/drop_modules.h"
#include "libsten/programs/staged/staged_prune.h"
#include "libsten/programs/staged/state.h"
#include "libsten/training/trainer/run_files.h"

namespace sten {

Outcome prune_in_stages(const StagedOptions&) {
  fail_usage("--schedule: this program was built without (build the target sten-prune)");
}
std::unique_ptr<LayerSource> layers_of_model(const CalibrationRequest&) {
  fail_usage("--calibrate: this program was built without (build the target sten-prune)");
}
std::unique_ptr<LayerSource> layers_of_file(const CalibrationRequest&) {
  fail_usage("--statistics: this program was built without (build the target sten-prune)");
}
Outcome drop_modules(const DropOptions&) {
  fail_usage("--drop-layers: this program was built without (build the target sten-prune)");
}
void load_extension(const std::string&) {
  fail_usage("--load: this program was built without (build the target sten-prune)");
}
bool StateDirectory::is_own_file(const std::string&) { return false; }

std::vector<std::pair<std::string, std::string>> inputs_of(const std::string&, const Overrides&) {
  return {};
}
bool RunFiles::is_own_file(const std::string&) { return false; }

}  // namespace sten
