// SPDX-License-Identifier: Apache-2.0
// The functions that a device provides for libsten, as tables: kernels/cuda/ has them for CUDA, and
// a SerialGrid (grid.h) gives their CPU form.
//
// Pointers are to device memory unless stated. Functions that return nothing or bool are
// asynchronous: their results are ready when the stream has finished. Bit arrays have one bit per
// element, least significant first; unused bits of the last byte are 0. They are 4-byte aligned and
// readable up to the end of their last 32-bit word (allocate() guarantees both). Element widths are
// 1, 2, 4 and 8 bytes. Results are bitwise those of the CPU kernels.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kernels/block/grid.h"
#include "kernels/block/matrix.h"
#include "kernels/floats.h"
#include "kernels/nmg_exact.h"

namespace sten::kernels {

struct Elements {
  const void* x;
  int width;
  std::int64_t n;
};

// Elementwise kernels on flat arrays (kernels/elementwise.h).
struct ElementwiseFunctions {
  // Magnitude pruning: sets the bits of all but the `drop` elements with the smallest keys; among
  // equal keys the later ones are dropped.
  void (*keep_largest)(Elements x, std::int64_t drop, std::uint8_t* bits, Stream);
  void (*nonzero_bits)(Elements x, std::uint8_t* bits, Stream);
  void (*mask_values)(Elements x, const std::uint8_t* bits, void* out, Stream);
  // Writes the elements whose bit is set, in order.
  void (*compress)(Elements x, const std::uint8_t* bits, void* values, Stream);
  // Inverse of compress: out[n] has the values, in order, where the bit is set, and 0 elsewhere.
  void (*expand)(const void* values, int width, const std::uint8_t* bits, std::int64_t n, void* out,
                 Stream);
  // The next three functions wait for their result.
  std::int64_t (*count_bits)(const std::uint8_t* bits, std::int64_t n, Stream);
  std::int64_t (*count_key)(Elements x, std::uint64_t key, Stream);
  std::int64_t (*count_nonzero)(Elements x, Stream);
  // Index of the first infinity or NaN; x.n if all elements are finite.
  std::int64_t (*first_not_finite)(Elements x, FloatKind, Stream);
  // sum_magnitudes() for each segment of `piece` elements, a multiple of 8. sums [ceil(n / piece),
  // 2], double: all and kept.
  void (*sum_magnitudes)(Elements x, FloatKind, const std::uint8_t* bits, std::int64_t piece,
                         double* sums, Stream);
};

// The n:m layout (libsten/core/layout/nm.h): blocks of m run along the rows of the matrices.
inline constexpr std::int64_t most_nm_on_device = 64;
struct NmFunctions {
  // Sets the bits of the n largest keys of every m neighbours; among equal keys the earlier one. 1
  // <= n <= m <= most_nm_on_device. `bits` are those of the whole tensor and 0 before the call.
  void (*select)(const BlockMatrix&, std::int64_t n, std::int64_t m, Elements x, FloatKind,
                 std::uint8_t* bits, Stream);
  // Packs to values [lines, ceil(cols / m), n] and pos [lines, row_bytes]. `bits` must keep at most
  // n of every m, which is not checked; padding takes the lowest free positions.
  void (*pack)(const BlockMatrix&, std::int64_t n, std::int64_t m, Elements x,
               const std::uint8_t* bits, void* values, std::uint8_t* pos, std::int64_t row_bytes,
               Stream);
  // Unpacks to all elements of the tensor, with 0 at positions that are not stored.
  void (*unpack)(const BlockMatrix&, std::int64_t n, std::int64_t m, const void* values, int width,
                 const std::uint8_t* pos, std::int64_t row_bytes, void* out, Stream);
};

enum class NmgFitRule : std::uint8_t { exact, swaps };

// Output arrays of n:m:g (libsten/core/layout/nmg.h); nullptr: not requested.
struct NmgParts {
  void* values = nullptr;               // [units, C, g, n]
  void* index = nullptr;                // [units, C, g], 1 byte per index if C * g <= 256, else 2
  std::uint8_t* bits = nullptr;         // of the whole tensor, 0 before the call
  std::uint16_t* pattern_of = nullptr;  // [units, C * g], as from NmgExactTable
};

// The n:m:g layout: strips run down the rows. A unit is a chunk of a row block; units are ordered
// by matrix, row block and chunk. NmgFormat::patterns is device memory; NmgFormat::swaps is unused.
struct NmgFunctions {
  // Whether the fit of a chunk fits in the shared memory of a block.
  bool (*has_room)(const NmgFormat&, NmgFitRule);
  // Fits every chunk and writes the requested parts; the result equals the CPU fit with the same
  // rule. Requires has_room().
  void (*prune)(const NmgFormat&, const BlockMatrix&, Elements x, FloatKind, NmgFitRule, NmgParts,
                Stream);
  // Unpacks to all elements of the tensor, with 0 at positions that are not stored.
  void (*unpack)(const NmgFormat&, const BlockMatrix&, const void* values, int width,
                 const void* index, void* out, Stream);
  // Gathers the values of x at the positions of `index`; 0 in padding.
  void (*gather)(const NmgFormat&, const BlockMatrix&, const void* x, int width, const void* index,
                 void* values, Stream);
};

// C = A B with A [rows, cols], B [cols, n], C [rows, n], all float32 and row-major.
struct ProductOperands {
  std::int64_t rows, cols, n;
  const float* b;
  std::int64_t ldb;
  float* c;
  std::int64_t ldc;
};

// A matrix A prepared for repeated products by a library.
struct PreparedProduct {
  virtual ~PreparedProduct() = default;
  virtual void run(const ProductOperands&, Stream) = 0;
};

// Sparse products. Libraries are loaded at first use; their results can differ from the CPU's in
// rounding. Factors are not rounded.
struct ProductFunctions {
  // Name and version, "cuBLAS 13.0"; nullptr without the library of GemmFunctions::dense.
  const char* (*dense_library)();
  // C = A B with A in n:m:g of any format, parts as stored. An element of C is summed from 0 by
  // fused multiply-adds, chunk by chunk, in the order of the patterns and of the strips of their
  // groups. B counts as 0 at A's padding.
  void (*nmg)(const NmgFormat&, const float* values, const void* index, const ProductOperands&,
              Stream);
  // C = A^T B; the operands' rows are A's columns. Sums are in ascending order of A's rows. Returns
  // false and does nothing if n is not 1 or if the device lacks the shared memory.
  bool (*nmg_transposed)(const NmgFormat&, const float* values, const void* index,
                         const ProductOperands&, Stream);
  // Name and version, "cuSPARSE 12.6"; nullptr without the library. row_ptr [rows + 1], columns
  // [nnz].
  const char* (*csr_library)();
  PreparedProduct* (*csr)(std::int64_t rows, std::int64_t cols, std::int64_t nnz,
                          const std::int64_t* row_ptr, const std::int32_t* columns,
                          const float* values, Stream);
  // No product of 2:4: for float32, cuSPARSELt supports only 1:2.
};

}  // namespace sten::kernels
