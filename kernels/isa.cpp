// SPDX-License-Identifier: Apache-2.0
#include "kernels/isa.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string>

#include "kernels/simd/target.h"

namespace sten::kernels {
namespace {

// Name and compiler target of each Isa, in its order. target "": runs on any CPU.
struct Row {
  const char *name, *target;
};
constexpr Row isas[] = {
    {"reference", ""},       {"avx2", STEN_AVX2},
    {"avx512", STEN_AVX512}, {"avx512_bf16", STEN_AVX512_BF16},
    {"amx", STEN_AMX},
};
constexpr std::size_t count = std::size(all_isas);
static_assert(std::size(isas) == count);

Isa best_isa() {
  Isa best = Isa::reference;
  for (const Isa isa : all_isas)
    if (has_isa(isa)) best = isa;
  return best;
}

// For example "reference, avx2 and avx512".
std::string all_names() {
  std::string names = isas[0].name;
  for (std::size_t i = 1; i < count; ++i)
    names.append(i + 1 < count ? ", " : " and ").append(isas[i].name);
  return names;
}

const IsaChoice& chosen() {
  static const IsaChoice choice = choose_isa(std::getenv("STEN_ISA"));
  return choice;
}

}  // namespace

const char* name_of(Isa isa) { return isas[static_cast<std::size_t>(isa)].name; }

bool has_isa(Isa isa) {
  static const auto has = [] {
    std::array<bool, count> all{};
    for (std::size_t i = 0; i < count; ++i) all[i] = cpu_runs(isas[i].target);
    return all;
  }();
  return has[static_cast<std::size_t>(isa)];
}

IsaChoice choose_isa(const char* wanted) {
  IsaChoice choice{best_isa(), ""};
  if (wanted == nullptr || *wanted == '\0') return choice;
  for (const Isa isa : all_isas) {
    if (std::strcmp(wanted, name_of(isa)) != 0) continue;
    if (has_isa(isa))
      choice.isa = isa;
    else
      std::snprintf(choice.error, sizeof choice.error,
                    "STEN_ISA=%s: this machine or this build has no such kernels, the best is %s",
                    wanted, name_of(choice.isa));
    return choice;
  }
  std::snprintf(choice.error, sizeof choice.error,
                "STEN_ISA: unknown ISA '%.40s' (expected one of %s)", wanted, all_names().c_str());
  return choice;
}

Isa active_isa() { return chosen().isa; }

Isa float32_isa() { return active_isa() >= Isa::avx512_bf16 ? Isa::avx512 : active_isa(); }

const char* isa_error() { return chosen().error[0] == '\0' ? nullptr : chosen().error; }

}  // namespace sten::kernels
