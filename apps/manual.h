// Manual pages from the options that --help has.
#pragma once
#include <string>

#include "apps/main.h"

namespace sten::app {

// The page of section 1, in the macros of man(7). Without a date: the same source, the same bytes.
std::string man_page(const Program& program, const CLI::App& app);

}  // namespace sten::app
