// SPDX-License-Identifier: Apache-2.0
// The state of pruning until recovery as JSON.
#pragma once
#include "libsten/core/base/json_reader.h"
#include "libsten/training/trainer/recovery_state.h"

namespace sten {

// The state without tensors; of `before`, it has the name.
nlohmann::ordered_json to_json(const RecoveryState& r);
// Reads to_json(); `before` gets no values.
RecoveryState read_recovery(const JsonReader& in);

}  // namespace sten
