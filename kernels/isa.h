// SPDX-License-Identifier: Apache-2.0
// The instruction sets (ISA) that kernels are built for, and the choice for this process.
#pragma once

namespace sten::kernels {

// avx2: with FMA, BMI1, BMI2, F16C and POPCNT (x86-64-v3). avx512: also F, CD, BW, DQ and VL
// (x86-64-v4). avx512_bf16: also VBMI2 and bfloat16 dot products. amx: also tiles of bfloat16 and
// int8, if the operating system permits them.
enum class Isa { reference, avx2, avx512, avx512_bf16, amx };

inline constexpr Isa all_isas[] = {Isa::reference, Isa::avx2, Isa::avx512, Isa::avx512_bf16,
                                   Isa::amx};

// "reference", "avx2", "avx512", "avx512_bf16", "amx".
const char* name_of(Isa isa);
// Whether this build has kernels for the ISA, and the CPU and operating system support them.
bool has_isa(Isa isa);

// The ISA of this process, fixed at the first call: the one that the environment variable STEN_ISA
// names, else the best available.
Isa active_isa();
// The ISA for float32 kernels: active_isa(), or avx512 if active_isa() adds only low-precision
// instructions.
Isa float32_isa();
// The error in STEN_ISA, or nullptr. After an error, active_isa() is the best available ISA.
// Programs print the error before they start to work.
const char* isa_error();

struct IsaChoice {
  Isa isa;
  char error[160];  // "" without an error
};

// The result of the two functions above if STEN_ISA is `wanted`; nullptr and "" mean unset.
IsaChoice choose_isa(const char* wanted);

}  // namespace sten::kernels
