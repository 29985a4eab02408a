// SPDX-License-Identifier: Apache-2.0
// Writer of GGUF headers, version 3.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "libsten/files/gguf/gguf_file.h"

namespace sten {

// The metadata of a file to be written, in order. Keys are unique.
class GgufMetadata {
 public:
  void add(std::string_view key, std::uint32_t value);
  void add(std::string_view key, float value);
  void add(std::string_view key, bool value);
  void add(std::string_view key, std::string_view value);
  void add(std::string_view key, const char* value) { add(key, std::string_view(value)); }
  void add(std::string_view key, const std::vector<std::string>& values);
  void add(std::string_view key, const std::vector<std::int32_t>& values);
  void add(std::string_view key, const std::vector<float>& values);
  void add(std::string_view key, const std::vector<bool>& values);
  // A value of another file.
  void add(std::string_view key, const GgufValue& value);

  std::uint64_t count() const { return count_; }
  const std::string& bytes() const { return bytes_; }

 private:
  void start(std::string_view key, GgufKind kind);
  void start_array(std::string_view key, GgufKind element, std::size_t count);

  std::string bytes_;
  std::uint64_t count_ = 0;
};

// The header of a file, padded to the data; sets the ranges of the tensors, whose data are in this
// order, aligned to gguf_default_alignment.
std::string gguf_header(const GgufMetadata& metadata, std::vector<GgufTensor>& tensors);

}  // namespace sten
