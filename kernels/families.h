// SPDX-License-Identifier: Apache-2.0
// The tables of the kernel families (table.h) by ISA. A kernel of simd/ is found by its name: a
// function of a table that is in no source file of the build has a null address.
#pragma once
#include <cstdint>

namespace sten::kernels {

// X(ISA, SUFFIX, ...) for each table that a family may have, lowest ISA first; NAME_SUFFIX() returns
// it. VBMI2 replaces some kernels of AVX-512 where the CPU has it.
// clang-format off
#define KERNEL_TABLES(X, ...)                \
  X(reference, reference, __VA_ARGS__)       \
  X(avx2, avx2, __VA_ARGS__)                 \
  X(avx512, avx512, __VA_ARGS__)             \
  X(avx512, avx512_vbmi2, __VA_ARGS__)       \
  X(avx512_bf16, avx512_bf16, __VA_ARGS__)   \
  X(amx, amx, __VA_ARGS__)
// clang-format on

#define KERNEL_TABLE(isa, suffix, name, Table, ...) \
  [[gnu::weak]] const Table* name##_##suffix(__VA_ARGS__);
#define KERNEL_FAMILY(name, Table) \
  struct Table;                    \
  KERNEL_TABLES(KERNEL_TABLE, name, Table)
#define KERNEL_FAMILY_BY_LANES(name, Table) \
  struct Table;                             \
  KERNEL_TABLES(KERNEL_TABLE, name, Table, std::int64_t lanes)
#include "kernels/families.def"
#undef KERNEL_FAMILY_BY_LANES
#undef KERNEL_FAMILY
#undef KERNEL_TABLE

// The table that such a function returns; nullptr if the build or the CPU lacks it.
template <class Table, class... Lanes>
const Table* built(const Table* (*table)(Lanes...), Lanes... lanes) {
  return table ? table(lanes...) : nullptr;
}

}  // namespace sten::kernels
