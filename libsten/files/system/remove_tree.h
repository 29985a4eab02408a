// SPDX-License-Identifier: Apache-2.0
// Removal of files and directories.
#pragma once
namespace sten {

// Removes a file, or a directory and its contents, as far as possible. Does not follow links.
// Async-signal-safe, for handlers that end the process.
void remove_tree(int directory, const char* name) noexcept;

}  // namespace sten
