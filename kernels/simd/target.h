// STEN_TARGET_BEGIN ... STEN_TARGET_END: functions between them may use the instructions that the
// macro STEN_TARGET names (a string as of the target attribute); what is included before them, and
// all the rest of the file, is compiled for any x86-64. Flags for a whole file would compile the
// inline functions of the standard library with these instructions too, and the linker may then
// pick that copy for everyone.
#pragma once

#define STEN_PRAGMA(text) _Pragma(#text)
#define STEN_PRAGMA_OF(text) STEN_PRAGMA(text)

#if defined(__clang__)
#define STEN_TARGET_BEGIN \
  STEN_PRAGMA_OF(clang attribute push(__attribute__((target(STEN_TARGET))), apply_to = function))
#define STEN_TARGET_END _Pragma("clang attribute pop")
#else
#define STEN_TARGET_BEGIN _Pragma("GCC push_options") STEN_PRAGMA_OF(GCC target(STEN_TARGET))
#define STEN_TARGET_END _Pragma("GCC pop_options")
#endif
