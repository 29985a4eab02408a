// SPDX-License-Identifier: Apache-2.0
#include "kernels/simd/target.h"

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace sten::kernels {
namespace {

// clang 14 and g++ 12 do not report this feature. The features that they report include the check
// of the operating system.
bool has_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}

// Feature of CPUID leaf 7: bit of edx, or of eax for subleaf 1.
bool has_leaf_7(unsigned subleaf, unsigned bit) {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, subleaf, &a, &b, &c, &d) && ((subleaf ? a : d) >> bit & 1);
}

// Asks Linux for the permission to use tiles, which add 8 KB of state to each thread.
bool may_use_tiles() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) return false;
  unsigned enabled = 0;
  asm("xgetbv" : "=a"(enabled), "=d"(d) : "c"(0));
  constexpr unsigned tiles = 3u << 17;  // tile configuration and tile data
  constexpr long request = 0x1023, tile_data = 18;
  return (enabled & tiles) == tiles && syscall(SYS_arch_prctl, request, tile_data) == 0;
}

// One line per feature, because __builtin_cpu_supports() accepts only literals.
bool cpu_has(std::string_view feature) {
#define STEN_FEATURE(name) \
  if (feature == name) return __builtin_cpu_supports(name)
  STEN_FEATURE("avx2");
  STEN_FEATURE("fma");
  STEN_FEATURE("bmi");
  STEN_FEATURE("bmi2");
  STEN_FEATURE("popcnt");
  if (feature == "f16c") return has_f16c();
  STEN_FEATURE("avx512f");
  STEN_FEATURE("avx512cd");
  STEN_FEATURE("avx512bw");
  STEN_FEATURE("avx512dq");
  STEN_FEATURE("avx512vl");
  STEN_FEATURE("avx512vbmi2");
  if (feature == "avx512bf16") return has_leaf_7(1, 5);
  if (feature == "amx-tile") return has_leaf_7(0, 24) && may_use_tiles();
  if (feature == "amx-bf16") return has_leaf_7(0, 22);
  if (feature == "amx-int8") return has_leaf_7(0, 25);
#undef STEN_FEATURE
  std::fprintf(stderr, "kernels/simd/target.cpp has no line for %s\n", feature.data());
  std::abort();
}

}  // namespace

bool cpu_runs(const char* target) {
  __builtin_cpu_init();
  bool all = true;
  for (std::string_view rest = target; !rest.empty();) {
    const std::string_view feature = rest.substr(0, rest.find(','));
    all = cpu_has(feature) && all;  // looks up every name, to find misspelt ones
    rest.remove_prefix(std::min(feature.size() + 1, rest.size()));
  }
  return all;
}

}  // namespace sten::kernels
