// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/tensors/tensor_name.h"

#include <fmt/format.h>

#include <algorithm>

#include "libsten/core/base/text.h"

namespace sten {
namespace {

bool leaves_directory(std::string_view name) {
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t slash = std::min(name.find('/', at), name.size());
    if (name.substr(at, slash - at) == "..") return true;
    at = slash + 1;
  }
  return false;
}

}  // namespace

std::string why_no_name(std::string_view name) {
  if (name.empty()) return "the name is empty";
  if (name.size() > max_name_bytes)
    return fmt::format("the name has {} bytes, more than {}", name.size(), max_name_bytes);
  if (has_control_characters(name)) return "the name holds control characters";
  if (name.front() == '/') return "the name is an absolute path";
  if (leaves_directory(name)) return "the name is a path that leaves its directory";
  if (name == metadata_name) return "the name is that of a file's metadata";
  return "";
}

}  // namespace sten
