// Opening what data sets are read from.
#pragma once
#include <string>
#include <string_view>

#include "libsten/io/mmap.h"

namespace sten {

// A regular file that is not empty; Error for anything else.
MappedFile open_data(const std::string& path);

inline std::string_view text_of(std::span<const std::byte> file) {
  return {reinterpret_cast<const char*>(file.data()), file.size()};
}

}  // namespace sten
