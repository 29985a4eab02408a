// SPDX-License-Identifier: Apache-2.0
// Opening of data files.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "libsten/files/system/mmap.h"

namespace sten {

// Maps a regular file. Error for other files, an empty file, and a Git LFS pointer.
MappedFile open_data(const std::string& path);

inline std::string_view text_of(std::span<const std::byte> file) {
  return {reinterpret_cast<const char*>(file.data()), file.size()};
}

}  // namespace sten
