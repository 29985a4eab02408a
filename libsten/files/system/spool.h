// SPDX-License-Identifier: Apache-2.0
// Spooling: copies pipes to a temporary file, which is mapped.
#pragma once
#include <string>

#include "libsten/files/system/mmap.h"

namespace sten {

// Copies the rest of `fd` to a file that is deleted with its map; `fd` stays open. `name` is for
// messages.
MappedFile spool(int fd, const std::string& name);

// Opens an input: maps a regular file; spools standard input ("-") and named pipes. Error for
// directories and devices; Error (usage) if "-" is a terminal.
MappedFile open_input(const std::string& path);

}  // namespace sten
