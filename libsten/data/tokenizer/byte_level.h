// SPDX-License-Identifier: Apache-2.0
// The characters that stand for bytes in the subwords of byte-level BPE (GPT-2; Radford et al.
// 2019).
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sten {

// Printable bytes for themselves, U+0100 and up for the others.
const std::array<std::int32_t, 256>& byte_characters();
// The bytes of a subword; none if it has another character.
std::optional<std::string> bytes_of(std::string_view subword);

}  // namespace sten
