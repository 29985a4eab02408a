// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/linalg/onednn_library.h"

#include "kernels/isa.h"

#define STEN_TEXT(x) #x
#define STEN_TEXT_OF(x) STEN_TEXT(x)

namespace sten::onednn {
namespace {

constexpr const char* file = "libdnnl.so." STEN_TEXT_OF(DNNL_VERSION_MAJOR);

void* load() {
  const kernels::Isa isa = kernels::active_isa();
  if (isa == kernels::Isa::reference) return nullptr;
  void* loaded = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (!loaded) return nullptr;
  const auto limit =
      reinterpret_cast<decltype(&dnnl_set_max_cpu_isa)>(dlsym(loaded, "dnnl_set_max_cpu_isa"));
  if (!limit) return nullptr;
  // Fails if other code has used the library before; its ISA can then not be limited.
  if (isa == kernels::Isa::avx2 && limit(dnnl_cpu_isa_avx2) != dnnl_success) return nullptr;
  // For float32, all these ISAs give the same results.
  if (isa == kernels::Isa::avx512) limit(dnnl_cpu_isa_avx512_core);
  if (isa == kernels::Isa::avx512_bf16) limit(dnnl_cpu_isa_avx512_core_bf16);
  return loaded;
}

int (*omp_get())() {
  static const auto get = function<int (*)()>("omp_get_max_threads");
  return get;
}
void (*omp_set())(int) {
  static const auto set = function<void (*)(int)>("omp_set_num_threads");
  return set;
}

}  // namespace

void* library() {
  static void* const loaded = load();
  return loaded;
}

TeamOf::TeamOf(int threads) : lent_(threads) {
  if (!omp_get() || !omp_set()) return;
  before_ = omp_get()();
  omp_set()(threads);
}

TeamOf::~TeamOf() {
  if (before_) omp_set()(before_);
}

SignalsHeld::SignalsHeld() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before_);
}

SignalsHeld::~SignalsHeld() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

}  // namespace sten::onednn
