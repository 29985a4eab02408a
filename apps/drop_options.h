// SPDX-License-Identifier: Apache-2.0
// Options of sten-prune that remove layers and experts.
#pragma once
#include <CLI/CLI.hpp>

#include "libsten/programs/drop/drop_modules.h"

namespace sten::app {

void add_drop(CLI::App& app, DropOptions& o, const char* group);
// Error (usage) if an option is given that removal does not have.
void refuse_pruning_flags(const CLI::App& app, const DropOptions& o);

}  // namespace sten::app
