#include <dlfcn.h>
#include <dnnl.h>
#include <signal.h>

#include "kernels/isa.h"
#include "libsten/linalg/dense_library.h"

#define STEN_TEXT(x) #x
#define STEN_TEXT_OF(x) STEN_TEXT(x)

namespace sten {
namespace {

constexpr const char* file = "libdnnl.so." STEN_TEXT_OF(DNNL_VERSION_MAJOR);

// Of Debian's oneDNN, whose threads are OpenMP's. A setting of the calling thread.
struct OpenMp {
  int (*get)();
  void (*set)(int);
};

class TeamOf {
 public:
  TeamOf(const OpenMp& omp, int threads) : omp_(omp) {
    if (!omp_.get || !omp_.set) return;
    before_ = omp_.get();
    omp_.set(threads);
  }
  ~TeamOf() {
    if (before_) omp_.set(before_);
  }
  TeamOf(const TeamOf&) = delete;
  TeamOf& operator=(const TeamOf&) = delete;

 private:
  const OpenMp& omp_;
  int before_ = 0;
};

// While it lives this thread, and those that it starts, handle no signals; they wait. Some kernels
// of oneDNN 2.6.3 keep data below the stack pointer, where the kernel puts what it saves for a
// handler: then dnnl_sgemm() writes anywhere.
class SignalsHeld {
 public:
  SignalsHeld() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsHeld() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

std::optional<DenseLibrary> load_onednn() {
  const kernels::Isa isa = kernels::active_isa();
  if (isa == kernels::Isa::reference) return std::nullopt;
  void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (!library) return std::nullopt;
  const auto sgemm = reinterpret_cast<decltype(&dnnl_sgemm)>(dlsym(library, "dnnl_sgemm"));
  const auto version = reinterpret_cast<decltype(&dnnl_version)>(dlsym(library, "dnnl_version"));
  const auto limit =
      reinterpret_cast<decltype(&dnnl_set_max_cpu_isa)>(dlsym(library, "dnnl_set_max_cpu_isa"));
  if (!sgemm || !version || !limit) return std::nullopt;
  // Refused where somebody else has used the library before: then it is not ours to hold.
  if (isa == kernels::Isa::avx2 && limit(dnnl_cpu_isa_avx2) != dnnl_success) return std::nullopt;
  const OpenMp omp{reinterpret_cast<int (*)()>(dlsym(library, "omp_get_max_threads")),
                   reinterpret_cast<void (*)(int)>(dlsym(library, "omp_set_num_threads"))};
  const dnnl_version_t* v = version();
  return DenseLibrary{"oneDNN " + std::to_string(v->major) + "." + std::to_string(v->minor) + "." +
                          std::to_string(v->patch),
                      [sgemm, omp](Turned turned, Index m, Index n, Index k, const float* a,
                                   const float* b, float* c, int threads) {
                        const SignalsHeld held;
                        const TeamOf team(omp, threads);
                        const bool at = turned == Turned::a, bt = turned == Turned::b;
                        sgemm(at ? 'T' : 'N', bt ? 'T' : 'N', m, n, k, 1, a, at ? m : k, b,
                              bt ? k : n, 0, c, n);
                      }};
}

}  // namespace sten
