// SPDX-License-Identifier: Apache-2.0
// Unicode classes of Hugging Face's tokenizers 0.23: those of utf8proc, changed to the Unicode
// versions of the tokenizers' tables.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sten {

// For BERT (Unicode 8): controls, formats and private use; not tab, line feed and carriage return.
bool is_control(std::int32_t c);
bool is_punctuation(std::int32_t c);  // including all ASCII symbols
bool is_nonspacing_mark(std::int32_t c);
bool is_ideograph(std::int32_t c);  // blocks that BERT splits into single characters

// For GPT-2 (Unicode 16): \p{L}, \p{N}, \s and others.
enum class CharacterClass : std::uint8_t { letter, number, space, other };
CharacterClass class_of(std::int32_t c);

// Lower case as in Rust, code point by code point: without final sigma.
void append_lower(std::int32_t c, std::string& to);
void append_utf8(std::int32_t c, std::string& to);

// Two letters, as "Lu" (Unicode 16).
std::string_view general_category(std::int32_t c);
bool is_number(std::int32_t c);          // of any kind (Unicode 17)
bool is_word_character(std::int32_t c);  // \w of Rust

// Normalization forms (Unicode 9).
inline constexpr int max_decomposition = 18;
// The full decomposition, canonical or compatible; returns the number of code points.
int decompose(std::int32_t c, std::span<std::int32_t, max_decomposition> to, bool compatible);
// The canonical composition of two code points; -1 if there is none.
std::int32_t compose(std::int32_t a, std::int32_t b);
int combining_class(std::int32_t c);
bool is_combining_mark(std::int32_t c);

// Converts bytes to UTF-8: each longest incomplete character, or invalid byte, becomes U+FFFD.
std::string with_replacements(const std::string& bytes);

}  // namespace sten
