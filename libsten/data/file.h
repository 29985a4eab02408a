// Opening what data sets are read from.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "libsten/io/mmap.h"

namespace sten {

// A regular file that is neither empty nor a Git LFS pointer; Error for anything else.
MappedFile open_data(const std::string& path);

inline std::string_view text_of(std::span<const std::byte> file) {
  return {reinterpret_cast<const char*>(file.data()), file.size()};
}

}  // namespace sten
