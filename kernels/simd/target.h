// What kernels of each instruction set are compiled for, and whether this CPU runs it.
#pragma once

// Strings as of the target attribute; each has what is in the one before. A name that is new here
// gets its line in target.cpp.
#define STEN_AVX2 "avx2,fma,bmi,bmi2,f16c,popcnt"
#define STEN_AVX512 STEN_AVX2 ",avx512f,avx512cd,avx512bw,avx512dq,avx512vl"
#define STEN_AVX512_VBMI2 STEN_AVX512 ",avx512vbmi2"
#define STEN_AVX512_BF16 STEN_AVX512_VBMI2 ",avx512bf16"
#define STEN_AMX STEN_AVX512_BF16 ",amx-tile,amx-bf16,amx-int8"

namespace sten::kernels {

// Whether this CPU has everything that the string names, its operating system allows it and this
// build has kernels that use it. "" names nothing.
bool cpu_runs(const char* target);

}  // namespace sten::kernels

// STEN_TARGET_BEGIN ... STEN_TARGET_END: functions between them may use the instructions that the
// macro STEN_TARGET names, which a file defines as one of the above before it includes anything.
// What is included before them, and all the rest of the file, is compiled for any x86-64. Flags for
// a whole file would compile the inline functions of the standard library with these instructions
// too, and the linker may then pick that copy for everyone.
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
