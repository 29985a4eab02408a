// SPDX-License-Identifier: Apache-2.0
#include <cblas.h>
#include <dlfcn.h>
#include <sys/mman.h>

#include <algorithm>
#include <climits>
#include <new>

#include "kernels/isa.h"
#include "libsten/compute/linalg/dense_library.h"
#include "libsten/core/base/parallel.h"

namespace sten {
namespace {

// OpenBLAS has two suitable kernels, whatever the CPU: those of Haswell for AVX2 and those of
// SkylakeX for AVX-512.
const char* core_type(kernels::Isa isa) {
  return isa >= kernels::Isa::avx512 ? "SkylakeX" : "Haswell";
}

// Returns "OpenBLAS 0.3.21" for "OpenBLAS 0.3.21 NO_LAPACKE ...".
std::string first_words(const std::string& config) {
  const std::size_t space = config.find(' ', config.find(' ') + 1);
  return config.substr(0, space);
}

// OpenBLAS maps a buffer of this size for each of its threads and each calling thread at the first
// product that needs one. If that fails, it retries forever.
constexpr std::size_t buffer_bytes = std::size_t{128} << 20;
bool has_room_for(int buffers) {
  const std::size_t bytes = static_cast<std::size_t>(buffers) * buffer_bytes;
  void* room = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return room != MAP_FAILED && munmap(room, bytes) == 0;
}

// The built-in loop; copies a transposed `a` with lda != m to contiguous memory first.
void own_rows(Transpose transposed, Index m, Index n, Index k, const float* a, Index lda,
              const float* b, float* c) {
  std::vector<float> closed;
  if (transposed == Transpose::a && lda != m) {
    closed.resize(static_cast<std::size_t>(m * k));
    for (Index p = 0; p < k; ++p) std::copy_n(a + p * lda, m, closed.data() + p * m);
    a = closed.data();
  }
  own_loop().multiply(transposed, m, n, k, a, b, c, 1);
}

}  // namespace

void linalg_detail::check_openblas_room() {
  thread_local bool is_checked = false;
  if (!is_checked && !has_room_for(1)) throw std::bad_alloc();
  is_checked = true;
}

std::optional<DenseLibrary> load_openblas() {
  const kernels::Isa isa = kernels::active_isa();
  if (isa == kernels::Isa::reference) return std::nullopt;
  void* library = nullptr;
  {
    const linalg_detail::Environment core("OPENBLAS_CORETYPE", core_type(isa));
    const linalg_detail::Environment team("OPENBLAS_NUM_THREADS", "1");  // products raise it
    // By default, OpenBLAS's threads spin for 2^28 cycles after their work, a tenth of a second of
    // processor time.
    const linalg_detail::Environment awake("OPENBLAS_THREAD_TIMEOUT", "20");
    library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  }
  if (!library || !has_room_for(1)) return std::nullopt;
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
  const auto rows = [sgemm](Transpose transposed, Index m, Index n, Index k, const float* a,
                            Index lda, const float* b, float* c) {
    if (std::max({m, n, k, lda}) > INT_MAX) {  // OpenBLAS has 32-bit sizes
      own_rows(transposed, m, n, k, a, lda, b, c);
      return;
    }
    linalg_detail::check_openblas_room();
    const auto cols = static_cast<blasint>(n), depth = static_cast<blasint>(k);
    sgemm(CblasRowMajor, transposed == Transpose::a ? CblasTrans : CblasNoTrans,
          transposed == Transpose::b ? CblasTrans : CblasNoTrans, static_cast<blasint>(m), cols,
          depth, 1, a, static_cast<blasint>(lda), b, transposed == Transpose::b ? depth : cols, 0,
          c, cols);
  };
  const auto multiply = [=](Transpose transposed, Index m, Index n, Index k, const float* a,
                            const float* b, float* c, int threads) {
    const LentCores lent(threads);
    if (const int before = get_threads(); before != threads) {
      if (threads > before && !has_room_for(threads - before)) throw std::bad_alloc();
      set_threads(threads);
    }
    rows(transposed, m, n, k, a, transposed == Transpose::a ? m : k, b, c);
  };
  DenseLibrary loaded{first_words(config()) + " " + core(), multiply};
  loaded.rows = [=](Transpose transposed, Index m, Index n, Index k, const float* a, Index lda,
                    const float* b, float* c) {
    if (get_threads() != 1) set_threads(1);
    rows(transposed, m, n, k, a, lda, b, c);
  };
  loaded.add_columns = [=](Index m, Index n, Index k, const float* a, Index lda, const float* b,
                           Index ldb, float* c, Index ldc) {
    if (get_threads() != 1) set_threads(1);
    linalg_detail::check_openblas_room();
    for (Index at = 0; at < k; at += INT_MAX)
      sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, static_cast<blasint>(m),
            static_cast<blasint>(n), static_cast<blasint>(std::min<Index>(k - at, INT_MAX)), 1,
            a + at * lda, static_cast<blasint>(lda), b + at * ldb, static_cast<blasint>(ldb), 1, c,
            static_cast<blasint>(ldc));
  };
  // OpenBLAS's AVX2 kernels process 24 rows at a time and sum the last rows in another order. Its
  // AVX-512 kernels choose the order by the number of rows.
  if (std::string_view(core()) == core_type(kernels::Isa::avx2)) {
    loaded.row_step = 24;
  } else {
    loaded.row_step = product_rows;
    loaded.in_stripes = true;
  }
  return loaded;
}

}  // namespace sten
