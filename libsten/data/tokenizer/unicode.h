// Classes of code points, as HuggingFace's tokenizers have them: those of utf8proc, but for what
// Unicode assigned after the versions that their tables are of.
#pragma once
#include <cstdint>
#include <string>

namespace sten {

// Of BERT's text (Unicode 8): controls, formats and private use; not tab, line feed and carriage
// return.
bool is_control(std::int32_t c);
bool is_punctuation(std::int32_t c);  // of ASCII all symbols, too
bool is_nonspacing_mark(std::int32_t c);
bool is_ideograph(std::int32_t c);  // of the blocks that BERT takes as words of one character
bool is_space(std::int32_t c);      // White_Space

// Of GPT-2's text (Unicode 14): \p{L}, \p{N}, \s and the others.
enum class CharacterClass : std::uint8_t { letter, number, space, other };
CharacterClass class_of(std::int32_t c);

// Lower case as in Rust: code point by code point, so that a final sigma is as any other.
void append_lower(std::int32_t c, std::string& to);
void append_utf8(std::int32_t c, std::string& to);

// The full canonical decomposition: at most 4 code points, whose number is the result.
int decompose(std::int32_t c, std::int32_t to[4]);
int combining_class(std::int32_t c);

// Text that may have any bytes as UTF-8: each longest beginning of a character, or else each byte,
// becomes U+FFFD.
std::string with_replacements(const std::string& bytes);

}  // namespace sten
