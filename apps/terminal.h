// SPDX-License-Identifier: Apache-2.0
// Terminal of a program's output.
#pragma once
#include <cstddef>

namespace sten::app {

// The width of the terminal behind a descriptor, in characters: $COLUMNS if it is a number, else as
// the terminal reports; 0 if unknown or not a terminal.
std::size_t terminal_width(int fd);

}  // namespace sten::app
