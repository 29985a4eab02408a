#include "kernels/isa.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "kernels/simd/cpu.h"

namespace sten::kernels {
namespace {

Isa best_isa() {
  Isa best = Isa::reference;
  for (const Isa isa : all_isas)
    if (has_isa(isa)) best = isa;
  return best;
}

const IsaChoice& chosen() {
  static const IsaChoice choice = choose_isa(std::getenv("STEN_ISA"));
  return choice;
}

}  // namespace

const char* name_of(Isa isa) {
  switch (isa) {
    case Isa::avx2:
      return "avx2";
    case Isa::avx512:
      return "avx512";
    default:
      return "reference";
  }
}

bool has_isa(Isa isa) {
  switch (isa) {
    case Isa::avx2:
      return cpu_runs_avx2();
    case Isa::avx512:
      return cpu_runs_avx2() && cpu_runs_avx512();
    default:
      return true;
  }
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
                "STEN_ISA=%.40s is none of reference, avx2 and avx512", wanted);
  return choice;
}

Isa active_isa() { return chosen().isa; }

const char* isa_error() { return chosen().error[0] == '\0' ? nullptr : chosen().error; }

}  // namespace sten::kernels
