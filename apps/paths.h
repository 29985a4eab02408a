// The paths of a command line, and what must not be among them.
#pragma once
#include <CLI/CLI.hpp>

namespace sten::app {

// Error (usage) where outputs are inputs, lie in each other or are one place, or where standard
// output would carry two things: a JSON document (`prints_json`) is one.
void check_paths(const CLI::App& app, bool prints_json);

// The files and directories that the command line says are to be written as a whole.
std::vector<std::string> output_files(const CLI::App& app);

}  // namespace sten::app
