// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/system/data_file.h"

#include <filesystem>
#include <system_error>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/files/system/file_kind.h"

namespace sten {

MappedFile open_data(const std::string& path) {
  std::error_code ignored;  // opening the file reports it
  if (std::filesystem::is_directory(path, ignored))
    fail("{}: expected a data file, got a directory", printable(path));
  MappedFile file = MappedFile::open(path);
  if (file.bytes().empty()) fail("{}: the file is empty", file.name());
  // Any other file may be text.
  if (const std::string_view kind = foreign_kind(file.bytes()); kind.starts_with("a Git LFS"))
    fail("{}: expected a data file, got {}", file.name(), kind);
  return file;
}

}  // namespace sten
