// SPDX-License-Identifier: Apache-2.0
// Command line of the programs that write manuals and completions.
#pragma once
#include <functional>
#include <map>
#include <string>

namespace sten::app {

// "NAME-manual PAGE FILE": writes the text of the page to FILE; returns the exit code.
int write_page(const char* program, int argc, char** argv,
               const std::map<std::string, std::function<std::string()>>& pages);

}  // namespace sten::app
