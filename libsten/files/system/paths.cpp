// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/system/paths.h"

#include <algorithm>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/files/system/fd.h"

namespace sten {

namespace fs = std::filesystem;

fs::path resolved(const std::string& path) {
  std::error_code error;
  fs::path place = fs::absolute(path, error);
  // Follows links to missing targets, which weakly_canonical() does not, up to the kernel's limit.
  for (int i = 0; i < 40 && !error; ++i) {
    place = fs::weakly_canonical(place, error);
    std::error_code none;
    const fs::path to = fs::read_symlink(place, none);
    if (none) break;
    place = place.parent_path() / to;
  }
  if (error) fail("{}: {}", printable(path), error.message());
  if (place.filename().empty() && place.has_relative_path()) place = place.parent_path();
  return place;
}

bool lies_in(const fs::path& path, const fs::path& directory) {
  const auto at = std::mismatch(directory.begin(), directory.end(), path.begin(), path.end());
  return at.first == directory.end() && at.second != path.end();
}

bool is_stream(const std::string& path) {
  if (path == "-" || descriptor_named(path)) return true;
  std::error_code none;
  const fs::file_status s = fs::status(path, none);
  return fs::is_fifo(s) || fs::is_character_file(s) || fs::is_socket(s);
}

}  // namespace sten
