// The instruction sets that kernels are built for, and the one this process uses.
#pragma once

namespace sten::kernels {

// avx2: with FMA, BMI1, BMI2, F16C and POPCNT (x86-64-v3). avx512: also F, CD, BW, DQ and VL
// (x86-64-v4). avx512_bf16: also VBMI2 and dot products of bfloat16. amx: also tiles of bfloat16 and
// int8, which the operating system has let this process use.
enum class Isa { reference, avx2, avx512, avx512_bf16, amx };

inline constexpr Isa all_isas[] = {Isa::reference, Isa::avx2, Isa::avx512, Isa::avx512_bf16,
                                   Isa::amx};

// "reference", "avx2", "avx512", "avx512_bf16", "amx".
const char* name_of(Isa isa);
// Whether this build has kernels for the ISA and this CPU, under this system, runs them.
bool has_isa(Isa isa);

// Fixed at the first call: the best there is, or what the environment variable STEN_ISA names.
Isa active_isa();
// The same, but avx512 for those above it, which are of low precision: what float32 is computed with.
Isa float32_isa();
// What is wrong with STEN_ISA (active_isa() is then the best there is), or nullptr. A program
// prints it before it works.
const char* isa_error();

struct IsaChoice {
  Isa isa;
  char error[160];  // "" if nothing is wrong
};

// What the two functions above say where STEN_ISA is `wanted`; nullptr and "" name none.
IsaChoice choose_isa(const char* wanted);

}  // namespace sten::kernels
