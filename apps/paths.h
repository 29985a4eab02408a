// SPDX-License-Identifier: Apache-2.0
// Checks of the paths on a command line.
#pragma once
#include <CLI/CLI.hpp>

namespace sten::app {

// Error (usage) if an output is an input, in an input or in another output, if two outputs are the
// same, or if standard output gets two documents; `prints_json`: a JSON document goes there.
void check_paths(const CLI::App& app, bool prints_json);

// The output files and directories of the command line that are written as a whole.
std::vector<std::string> output_files(const CLI::App& app);

}  // namespace sten::app
