// SPDX-License-Identifier: Apache-2.0
// Shell completion from the options of --help-all.
#pragma once
#include <string>

#include "apps/main.h"

namespace sten::app {

// A self-contained script for bash 4 or later.
std::string bash_completion(const Program& program, const CLI::App& app);
// Scripts for zsh (the file _PROGRAM of its fpath) and fish.
std::string zsh_completion(const Program& program, const CLI::App& app);
std::string fish_completion(const Program& program, const CLI::App& app);

}  // namespace sten::app
