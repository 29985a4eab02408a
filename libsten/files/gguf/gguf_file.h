// SPDX-License-Identifier: Apache-2.0
// Reader of GGUF headers, with complete checks.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libsten/core/base/shape.h"
#include "libsten/files/gguf/gguf_value.h"
#include "libsten/files/gguf/types.h"

namespace sten {

struct GgufTensor {
  std::string name;
  const GgufType* type = nullptr;
  Shape shape;                       // row-major: the file's dimensions in reverse order
  std::uint64_t begin = 0, end = 0;  // range of the file
};

struct GgufFile {
  std::uint32_t version = 0;
  std::uint64_t alignment = 0;  // of the tensors
  std::vector<std::pair<std::string, GgufValue>> metadata;
  std::vector<GgufTensor> tensors;
  std::span<const std::byte> bytes;  // of the file

  // nullptr if the metadata lack the key.
  const GgufValue* find(std::string_view key) const;
  // nullptr if the file lacks the tensor, which has a name of GGUF.
  const GgufTensor* tensor(std::string_view name) const;
  // The value of a key; none if it is missing or of another kind.
  std::optional<std::int64_t> integer(std::string_view key) const;
  std::optional<double> real(std::string_view key) const;
  std::optional<bool> boolean(std::string_view key) const;
  std::string_view text(std::string_view key) const;  // "" if missing
  // Metadata "general.architecture".
  std::string_view architecture() const { return text("general.architecture"); }
};

inline constexpr std::uint64_t gguf_default_alignment = 32;
// ggml's limit of dimensions.
inline constexpr std::size_t gguf_max_rank = 4;

bool is_gguf(std::span<const std::byte> file);

// Parses a GGUF file of version 2 or 3 (github.com/ggml-org/ggml/blob/master/docs/gguf.md), which is
// little-endian. The result points into `file`; `file_name` is for messages. Checks all counts and
// lengths, that names and keys are unique, and that the data of tensors are aligned, lie in the file
// and do not overlap. Error with the tensor or key and the numbers, and for tensors of unsupported
// types.
GgufFile parse_gguf(std::span<const std::byte> file, const std::string& file_name);

}  // namespace sten
