// Unicode classes of Hugging Face's tokenizers: those of utf8proc, without code points that are
// newer than the tokenizers' tables.
#pragma once
#include <cstdint>
#include <string>

namespace sten {

// For BERT (Unicode 8): controls, formats and private use; not tab, line feed and carriage return.
bool is_control(std::int32_t c);
bool is_punctuation(std::int32_t c);  // including all ASCII symbols
bool is_nonspacing_mark(std::int32_t c);
bool is_ideograph(std::int32_t c);  // blocks that BERT splits into single characters
bool is_space(std::int32_t c);      // White_Space

// For GPT-2 (Unicode 14): \p{L}, \p{N}, \s and others.
enum class CharacterClass : std::uint8_t { letter, number, space, other };
CharacterClass class_of(std::int32_t c);

// Lower case as in Rust, code point by code point: without final sigma.
void append_lower(std::int32_t c, std::string& to);
void append_utf8(std::int32_t c, std::string& to);

// The full canonical decomposition, at most 4 code points; returns their number.
int decompose(std::int32_t c, std::int32_t to[4]);
int combining_class(std::int32_t c);

// Converts bytes to UTF-8: each longest incomplete character, or invalid byte, becomes U+FFFD.
std::string with_replacements(const std::string& bytes);

}  // namespace sten
