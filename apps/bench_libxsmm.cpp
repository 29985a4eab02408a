// SPDX-License-Identifier: Apache-2.0
// Rival: libxsmm's product of a sparse matrix with a dense one, if libxsmm was found at build time.
#include <libxsmm.h>

#include <memory>

#include "kernels/isa.h"
#include "libsten/core/base/parallel.h"
#include "libsten/programs/bench/rival.h"

namespace sten {
namespace {

// Slices of 16-bit indices, about 128 columns wide, built from the dense matrix.
class Spmdm {
 public:
  Spmdm(const float* a, Index m, Index k, Index n, int threads) : threads_(threads) {
    if (kernels::active_isa() == kernels::Isa::avx2) libxsmm_set_target_arch("hsw");
    libxsmm_spmdm_init(static_cast<int>(m), static_cast<int>(n), static_cast<int>(k), threads,
                       &handle_, &slices_);
    const int blocks = libxsmm_spmdm_get_num_createSparseSlice_blocks(&handle_);
    each_block(blocks, [&](int block, int tid) {
      libxsmm_spmdm_createSparseSlice_fp32_thread(&handle_, 'N', a, slices_, block, tid, threads_);
    });
  }
  ~Spmdm() { libxsmm_spmdm_destroy(&handle_); }
  Spmdm(const Spmdm&) = delete;
  Spmdm& operator=(const Spmdm&) = delete;

  void multiply(bool linear, const float* in, float* out) const {
    const float one = 1, zero = 0;
    const char order = linear ? 'T' : 'N';
    const int blocks = libxsmm_spmdm_get_num_compute_blocks(&handle_);
    each_block(blocks, [&](int block, int tid) {
      libxsmm_spmdm_compute_fp32_thread(&handle_, 'N', order, &one, slices_, in, order, &zero, out,
                                        block, tid, threads_);
    });
  }

 private:
  // Threads share the blocks; each has scratch memory of its own, by its number.
  template <class F>
  void each_block(int blocks, F&& f) const {
    parallel_for(threads_, 1, [&](Index begin, Index end) {
      for (int tid = static_cast<int>(begin); tid < end; ++tid)
        for (int block = tid; block < blocks; block += threads_) f(block, tid);
    });
  }

  int threads_;
  libxsmm_spmdm_handle handle_{};
  libxsmm_CSR_sparseslice* slices_ = nullptr;
};

SparseRival::Product prepare(const float* a, Index m, Index k, Index n, bool linear, int threads) {
  const auto matrix = std::make_shared<const Spmdm>(a, m, k, n, threads);
  return [matrix, linear](const float* in, float* out) { matrix->multiply(linear, in, out); };
}

[[maybe_unused]] const bool added = [] {
  sparse_rivals().push_back({"libxsmm " LIBXSMM_CONFIG_VERSION, prepare});
  return true;
}();

}  // namespace
}  // namespace sten
