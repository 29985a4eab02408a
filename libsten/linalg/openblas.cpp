#include <cblas.h>
#include <dlfcn.h>

#include <algorithm>
#include <climits>

#include "kernels/isa.h"
#include "libsten/linalg/dense_library.h"

namespace sten {
namespace {

// OpenBLAS has two kernels for us, whatever the core is called: those of Haswell for AVX2 and those
// of SkylakeX for AVX-512.
const char* core_type(kernels::Isa isa) {
  return isa >= kernels::Isa::avx512 ? "SkylakeX" : "Haswell";
}

// "OpenBLAS 0.3.21 NO_LAPACKE ..." -> "OpenBLAS 0.3.21"
std::string first_words(const std::string& config) {
  const std::size_t space = config.find(' ', config.find(' ') + 1);
  return config.substr(0, space);
}

}  // namespace

std::optional<DenseLibrary> load_openblas() {
  const kernels::Isa isa = kernels::active_isa();
  if (isa == kernels::Isa::reference) return std::nullopt;
  void* library = nullptr;
  {
    const linalg_detail::Environment core("OPENBLAS_CORETYPE", core_type(isa));
    const linalg_detail::Environment team("OPENBLAS_NUM_THREADS", "1");  // more when asked for
    // Its threads stay awake for 2^28 cycles after their work, a tenth of a second that they take
    // from ours, if they are not told otherwise.
    const linalg_detail::Environment awake("OPENBLAS_THREAD_TIMEOUT", "20");
    library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  }
  if (!library) return std::nullopt;
  const auto sgemm = reinterpret_cast<decltype(&cblas_sgemm)>(dlsym(library, "cblas_sgemm"));
  const auto set_threads = reinterpret_cast<decltype(&openblas_set_num_threads)>(
      dlsym(library, "openblas_set_num_threads"));
  const auto get_threads = reinterpret_cast<decltype(&openblas_get_num_threads)>(
      dlsym(library, "openblas_get_num_threads"));
  const auto config =
      reinterpret_cast<decltype(&openblas_get_config)>(dlsym(library, "openblas_get_config"));
  const auto core =
      reinterpret_cast<decltype(&openblas_get_corename)>(dlsym(library, "openblas_get_corename"));
  if (!sgemm || !set_threads || !get_threads || !config || !core) return std::nullopt;
  return DenseLibrary{first_words(config()) + " " + core(),
                      [=](Turned turned, Index m, Index n, Index k, const float* a, const float* b,
                          float* c, int threads) {
                        if (std::max({m, n, k}) > INT_MAX) {  // its numbers have 32 bits
                          own_loop().multiply(turned, m, n, k, a, b, c, threads);
                          return;
                        }
                        if (get_threads() != threads) set_threads(threads);
                        const auto rows = static_cast<blasint>(m), cols = static_cast<blasint>(n),
                                   depth = static_cast<blasint>(k);
                        sgemm(CblasRowMajor, turned == Turned::a ? CblasTrans : CblasNoTrans,
                              turned == Turned::b ? CblasTrans : CblasNoTrans, rows, cols, depth, 1,
                              a, turned == Turned::a ? rows : depth, b,
                              turned == Turned::b ? depth : cols, 0, c, cols);
                      }};
}

}  // namespace sten
