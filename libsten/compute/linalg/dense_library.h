// SPDX-License-Identifier: Apache-2.0
// Libraries for products of dense matrices, loaded at first use.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libsten/core/base/shape.h"

namespace sten {

// The factor that is stored transposed.
enum class Transpose { none, a, b };

// Computes C[m,n] = A[m,k] * B[k,n], row-major float32, on `threads` threads. A transposed factor
// is stored as A [k,m] or B [n,k]. All extents are at least 1.
using DenseProduct = std::function<void(Transpose transposed, Index m, Index n, Index k,
                                        const float* a, const float* b, float* c, int threads)>;

// Computes some rows of C on one thread. lda: floats between stored rows of `a`, so that the rows
// of a transposed A can be a block of its columns.
using DenseRows = std::function<void(Transpose transposed, Index m, Index n, Index k,
                                     const float* a, Index lda, const float* b, float* c)>;

// Adds A^T B to C [m,n] on one thread, for blocks A [k,m] and B [k,n] of the columns of matrices. Rows
// of A, B and C are lda, ldb and ldc floats apart. All numbers but k are at most INT_MAX.
using DenseColumns = std::function<void(Index m, Index n, Index k, const float* a, Index lda,
                                        const float* b, Index ldb, float* c, Index ldc)>;

struct DenseLibrary {
  std::string name;  // "oneDNN 2.6.3", "OpenBLAS 0.3.21 SkylakeX", "own loop"
  DenseProduct multiply;
  // For a library whose results depend on its threads and on the division of rows into calls:
  // dense_gemm() and similar functions call this instead. Empty if results do not depend on
  // threads; even then, the last few rows of a call may differ from those of a larger one, as with
  // oneDNN and AVX-512.
  DenseRows rows = nullptr;
  // If calls have multiples of row_step rows, except the last, results equal those of one call.
  // With `in_stripes` they do not, and each call must have exactly row_step rows.
  Index row_step = 1;
  bool in_stripes = false;
  DenseColumns add_columns = nullptr;  // optional: without copies of the blocks
};

// A multiple of the row_step of all libraries.
inline constexpr Index product_rows = 192;

// Loads a library, limited to the instruction set active_isa(). No value if the library was missing
// at build time, does not load, or does not support this ISA. Debian's OpenBLAS falls back to AVX2
// on CPUs it does not know, so its core type is set, unless OPENBLAS_CORETYPE is. OpenBLAS reads
// that variable when it initializes, so it is loaded at run time instead of linked.
std::optional<DenseLibrary> load_onednn();
std::optional<DenseLibrary> load_openblas();
DenseLibrary own_loop();

// All libraries available on this machine; the built-in loop only if there is no other. Loaded at
// the first call.
const std::vector<DenseLibrary>& dense_libraries();
// Finds a library by its keyword (onednn, openblas, own) or its name without version; nullptr if it
// does not load. The built-in loop always exists.
const DenseLibrary* find_dense_library(std::string_view name);

namespace linalg_detail {

// Call before OpenBLAS computes on this thread: throws where OpenBLAS would wait for memory
// forever.
void check_openblas_room();

// Sets an environment variable while the object lives, unless it is set already.
class Environment {
 public:
  Environment(const char* name, const char* value);
  ~Environment();
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;  // nullptr: the variable was set before
};

}  // namespace linalg_detail
}  // namespace sten
