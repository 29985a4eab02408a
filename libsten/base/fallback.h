// Slower ways that are taken where the one that was asked for does not exist. None is taken in
// silence.
#pragma once
#include <string>

namespace sten {

// Whether a fallback is an error: STEN_STRICT=1 in the environment, or what a program has set.
bool is_strict();
void set_strict(bool strict);

// One line of what was missing and what is done instead: a warning, the first time that the process
// says it; Error (check), every time, where is_strict().
void report_fallback(const std::string& text);

}  // namespace sten
