// Inputs that are not files: pipes are copied to a temporary file and mapped from there.
#pragma once
#include <string>

#include "libsten/io/mmap.h"

namespace sten {

// Everything that can still be read from `fd`, which stays open, in a file that vanishes with its
// map. `name` is what messages call it.
MappedFile spool(int fd, const std::string& name);

// A program's input: a regular file is mapped; "-" is standard input; it and pipes by name are
// spooled. Error for directories and devices, Error (usage) where "-" is a terminal.
MappedFile open_input(const std::string& path);

}  // namespace sten
