// SPDX-License-Identifier: Apache-2.0
// --help and --help-all in 80 columns.
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "apps/program.h"

namespace sten::app {

// "FILE", without the text of validators.
std::string value_name(const CLI::Option& option);

// False for a flag.
bool takes_value(const CLI::Option& option);

// Descriptions have one line for --help, and further lines for --help-all and the manual:
// sentences, or items of a list, which start with "- ".
std::string summary(const CLI::Option& option);
std::vector<std::string> details(const CLI::Option& option);

// The groups of options in the order of --help and the manual: the common ones, those of the program,
// and those of all programs.
std::vector<std::string> option_groups(const CLI::App& app);
std::vector<const CLI::Option*> options_of(const CLI::App& app, const std::string& group);

// `all`: with every option and all details.
std::string help_text(const Program& program, const CLI::App& app, bool all);

}  // namespace sten::app
