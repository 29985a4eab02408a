// SPDX-License-Identifier: Apache-2.0
// Facts about paths.
#pragma once
#include <filesystem>
#include <string>

namespace sten {

// The absolute path, with links, ".", ".." and a trailing slash resolved. Parts of the path, and
// targets of links, may be missing. Error for circular links.
std::filesystem::path resolved(const std::string& path);

// Whether `path` is below `directory`; both are resolved.
bool lies_in(const std::filesystem::path& path, const std::filesystem::path& directory);

// Whether an output of this name is a pipe, a device or a descriptor: "-", "/dev/stdout".
bool is_stream(const std::string& path);

}  // namespace sten
