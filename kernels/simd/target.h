// SPDX-License-Identifier: Apache-2.0
// Compiler targets of the instruction sets, and the check that this CPU supports them.
#pragma once

// Values of the target attribute; each includes the previous one. A new feature name needs a line
// in target.cpp.
#define STEN_AVX2 "avx2,fma,bmi,bmi2,f16c,popcnt"
#define STEN_AVX512 STEN_AVX2 ",avx512f,avx512cd,avx512bw,avx512dq,avx512vl"
#define STEN_AVX512_VBMI2 STEN_AVX512 ",avx512vbmi2"
#define STEN_AVX512_BF16 STEN_AVX512_VBMI2 ",avx512bf16"
#define STEN_AMX STEN_AVX512_BF16 ",amx-tile,amx-bf16,amx-int8"

namespace sten::kernels {

// Whether the CPU and the operating system support all features of `target`, and this build has
// kernels for them. "": always.
bool cpu_runs(const char* target);

// The kernel table of loops that are a template over an ISA's type.
template <class Loops>
inline constexpr auto table_of = Loops::table();

}  // namespace sten::kernels

// STEN_TARGET_BEGIN ... STEN_TARGET_END: functions between these macros can use the instructions of
// STEN_TARGET, which a file defines as one of the targets above before its first include. Earlier
// includes and the rest of the file are compiled for any x86-64. Compiler flags for the whole file
// would also apply to inline functions of the standard library, and the linker could then choose
// these copies for the whole program.
#define STEN_PRAGMA(text) _Pragma(#text)
#define STEN_PRAGMA_OF(text) STEN_PRAGMA(text)

#if defined(__clang__)
// UndefinedBehaviorSanitizer's check of pointers that wrap around takes half of clang 14's time for
// some of these functions. AddressSanitizer sees what they then read, and reference/ has the check.
#define STEN_TARGET_BEGIN                                                                         \
  STEN_PRAGMA_OF(clang attribute push(__attribute__((target(STEN_TARGET))), apply_to = function)) \
  STEN_PRAGMA_OF(                                                                                 \
      clang attribute push(__attribute__((no_sanitize("pointer-overflow"))), apply_to = function))
#define STEN_TARGET_END _Pragma("clang attribute pop") _Pragma("clang attribute pop")
#else
// g++ 12 warns of the undefined vectors that its own AVX-512 intrinsics pass on (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#define STEN_TARGET_BEGIN _Pragma("GCC push_options") STEN_PRAGMA_OF(GCC target(STEN_TARGET))
#define STEN_TARGET_END _Pragma("GCC pop_options")
#endif
