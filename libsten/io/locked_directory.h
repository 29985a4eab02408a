// Directories that one process at a time works in.
#pragma once
#include <string>

#include "libsten/io/fd.h"

namespace sten {

// Makes the directory where it is not there, and locks it for as long as the descriptor is open: a
// process that ends in any way leaves no lock behind. Error (usage) where another process keeps
// it for a second, and Error where it can be neither made nor opened.
Fd locked_directory(const std::string& path);

// Whether it could be made, or be written to: Error if not. Makes nothing.
void check_directory(const std::string& path);

}  // namespace sten
