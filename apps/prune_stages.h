// SPDX-License-Identifier: Apache-2.0
// sten-prune --schedule and its options.
#pragma once
#include <CLI/CLI.hpp>

#include "libsten/programs/staged/staged_prune.h"

namespace sten::app {

void add_stages(CLI::App& app, StagedOptions& options);

// Error (usage) for flags that require --schedule, without it.
void refuse_stage_flags(const StagedOptions& options);

}  // namespace sten::app
