// SPDX-License-Identifier: Apache-2.0
// Decoders of a tokenizer.json: subwords to text.
#pragma once
#include <string>
#include <variant>
#include <vector>

#include "libsten/data/tokenizer/normalizer.h"
#include "libsten/data/tokenizer/pre_tokenizer.h"

namespace sten {

struct DecodeBytes {};          // of the characters of byte-level BPE, to one text
struct DecodeFallbackBytes {};  // runs of <0x..>; invalid UTF-8 is U+FFFD for each byte
struct Fuse {};                 // all to one text
// Removes up to so many of a character at the start and end of each subword.
struct StripCharacter {
  std::string character;
  std::size_t start = 0, stop = 0;
};
// Metaspace: replacements become blanks; without the one at the start, unless none is prepended.

using DecoderStep =
    std::variant<DecodeBytes, DecodeFallbackBytes, Fuse, StripCharacter, ReplaceText, Metaspace>;

// The text of subwords by the steps in order.
std::string decoded(std::vector<std::string> subwords, const std::vector<DecoderStep>& steps);

}  // namespace sten
