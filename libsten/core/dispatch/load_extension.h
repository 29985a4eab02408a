// SPDX-License-Identifier: Apache-2.0
// Extensions: shared libraries with layouts, sparsifiers and operators (docs/extending.md).
#pragma once
#include <string>

namespace sten {

// Loads a shared library whose initializers register what it has, as in a program that is linked
// with its sources. It stays loaded until the process ends. Call it before other threads use the
// tables.
//
// Error if the file is not a shared library; if it is not built for these headers of libsten
// (core/registry/extension.h), in which case nothing of it runs; if it is loaded already; or if it
// registers a layout, sparsifier or operator whose name is registered. The first registration of a
// name then stays, as do the other names of the library.
void load_extension(const std::string& path);

}  // namespace sten
