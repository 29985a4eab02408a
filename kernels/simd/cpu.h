// What this CPU runs, its operating system allows and this build has: false where x86 is absent.
#pragma once

namespace sten::kernels {

bool cpu_runs_avx2();
bool cpu_runs_avx512();  // beyond cpu_runs_avx2()
bool cpu_runs_vbmi2();   // beyond cpu_runs_avx512()

}  // namespace sten::kernels
