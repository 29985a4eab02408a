#include "kernels/simd/target.h"

#include <cpuid.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace sten::kernels {
namespace {

// Not among what clang 14 answers itself; the others answer for the operating system too.
bool has_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}

// One line for each: the compiler answers for literals only.
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
    all = cpu_has(feature) && all;  // every name is looked up, so that none is misspelt
    rest.remove_prefix(std::min(feature.size() + 1, rest.size()));
  }
  return all;
}

}  // namespace sten::kernels
