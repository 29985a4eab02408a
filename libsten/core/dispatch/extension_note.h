// SPDX-License-Identifier: Apache-2.0
// The notes of an extension (core/registry/extension.h) in its file.
#pragma once
#include <string>
#include <vector>

namespace sten {

// The texts of all notes, one for each source that includes core/registry/extension.h. Reads the
// file without loading it. Error if it is not a complete shared library for this machine.
std::vector<std::string> extension_notes(const std::string& path);

}  // namespace sten
