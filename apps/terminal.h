// What a program prints to.
#pragma once
#include <cstddef>

namespace sten::app {

// How many characters a line of the terminal behind a descriptor has: $COLUMNS where that is a
// number, else what the terminal says; 0 where it does not say, or there is none.
std::size_t terminal_width(int fd);

}  // namespace sten::app
