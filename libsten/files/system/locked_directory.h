// SPDX-License-Identifier: Apache-2.0
// Directories that one process at a time uses.
#pragma once
#include <string>

#include "libsten/files/system/fd.h"

namespace sten {

// Creates the directory if missing, and locks it until the descriptor is closed; the lock ends with
// the process. Error (usage) if another process holds the lock for a second; Error if the directory
// cannot be created or opened.
Fd locked_directory(const std::string& path);

// Error if the directory cannot be created or written to. Creates nothing.
void check_directory(const std::string& path);

}  // namespace sten
