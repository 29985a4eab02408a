// Removal of files and directories.
#pragma once
namespace sten {

// The file or the directory with all in it; whatever resists stays. Links are not followed.
// Async-signal-safe: for handlers that end the process.
void remove_tree(int directory, const char* name) noexcept;

}  // namespace sten
