// SPDX-License-Identifier: Apache-2.0
// Reader of safetensors headers, with complete checks.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "libsten/files/tensors/safetensors_header.h"

namespace sten {

// The limit of the safetensors library, which must be able to read our files.
inline constexpr std::uint64_t max_header_bytes = 100'000'000;

// Parses the header of `file`; `file_name` is for messages. Checks that names are unique and
// printable, that the bytes of each entry fit its shape and dtype, and that the entries tile the
// data section without gaps or overlaps. Error with the tensor and the numbers.
SafetensorsHeader parse_safetensors(std::span<const std::byte> file, const std::string& file_name);

// The bytes of a tensor. Error if they are not whole, or exceed 62 bits.
std::uint64_t byte_size(DType dtype, const Shape& shape);

}  // namespace sten
