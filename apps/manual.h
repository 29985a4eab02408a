// SPDX-License-Identifier: Apache-2.0
// Manual pages from the options of --help-all.
#pragma once
#include <string>

#include "apps/main.h"

namespace sten::app {

// The page of section 1, in the macros of man(7), without a date: the same source gives the same bytes.
std::string man_page(const Program& program, const CLI::App& app);

}  // namespace sten::app
