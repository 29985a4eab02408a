// sten-prune --schedule and what belongs to it.
#pragma once
#include <CLI/CLI.hpp>

#include "libsten/run/staged/staged_prune.h"

namespace sten::app {

void add_stages(CLI::App& app, StagedOptions& options);

// Error (usage) where a flag is given that only --schedule has a use for, and there is none.
void refuse_stage_flags(const StagedOptions& options);

}  // namespace sten::app
