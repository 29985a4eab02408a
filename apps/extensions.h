// SPDX-License-Identifier: Apache-2.0
// --load: extensions of the command line.
#pragma once
#include <CLI/CLI.hpp>
#include <functional>

namespace sten::app {

// Loads the libraries of --load, wherever it is on the command line, before the program's options
// are defined and parsed: help and specs know what the libraries register. `define` adds the options
// to an app whose values are not read. Error as from load_extension().
void load_extensions(int argc, char** argv, const std::function<void(CLI::App&)>& define);

}  // namespace sten::app
