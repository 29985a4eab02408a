// The libraries that multiply dense matrices for us, loaded when they are first needed.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libsten/base/shape.h"

namespace sten {

// Which factor of a product is there as its transpose.
enum class Transpose { none, a, b };

// C[m,n] = A[m,k] * B[k,n], all row-major float32; of a turned factor the transpose is given, A as
// [k,m] or B as [n,k]. No extent is 0. Runs on `threads` threads.
using DenseProduct = std::function<void(Transpose transposed, Index m, Index n, Index k,
                                        const float* a, const float* b, float* c, int threads)>;

// The same of some rows of C on one thread. lda: floats from one stored row of `a` to the
// next, so that those rows of a turned A may be a block of its columns.
using DenseRows = std::function<void(Transpose transposed, Index m, Index n, Index k,
                                     const float* a, Index lda, const float* b, float* c)>;

struct DenseLibrary {
  std::string name;  // "oneDNN 2.6.3", "OpenBLAS 0.3.21 SkylakeX", "own loop"
  DenseProduct multiply;
  // For a library whose bits depend on its threads, and on where the rows of a call end: dense_gemm()
  // and the like take these instead. Empty where bits do not depend on threads; the last few rows of
  // a call may still have other bits than in a larger one, as those of oneDNN with AVX-512 have.
  DenseRows rows = nullptr;
  // In calls of multiples of so many rows, but for the last one, all have the bits of one call; or
  // `in_stripes`: they have not, and each call gets as many and no more.
  Index row_step = 1;
  bool in_stripes = false;
};

// The multiple of all libraries' row_step.
inline constexpr Index product_rows = 192;

// Held to the ISA of active_isa(). Empty where it was not there at build time or is not now, or
// where that ISA is none they know. Debian's OpenBLAS does not know newer CPUs and would fall back
// to AVX2, so the core type is chosen for it, unless OPENBLAS_CORETYPE is set: it is read when the
// library initialises, which is why it is loaded by us rather than linked. Not a process of its
// own: a library cannot start its user's program anew.
std::optional<DenseLibrary> load_onednn();
std::optional<DenseLibrary> load_openblas();
DenseLibrary own_loop();

// All that this machine has; the own loop only without any other. Loaded at the first call.
const std::vector<DenseLibrary>& dense_libraries();
// Finds a library by its word (onednn, openblas, own) or by its name in any version; nullptr if it
// does not load. The own loop is always there.
const DenseLibrary* find_dense_library(std::string_view name);

namespace linalg_detail {

// Before OpenBLAS computes for this thread: throws where it would wait for memory for ever.
void check_openblas_room();

// Sets a variable of the environment where it is not set, for as long as it lives.
class Environment {
 public:
  Environment(const char* name, const char* value);
  ~Environment();
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;  // nullptr: was set before
};

}  // namespace linalg_detail
}  // namespace sten
