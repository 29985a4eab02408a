// What a device does for libsten, as tables of functions: kernels/cuda/ has them for CUDA, and
// those over a SerialGrid (grid.h) are their CPU form.
//
// Pointers are to device memory unless said otherwise. Functions that return nothing, or only
// whether they can, are done when the stream is. Bits are one per element, least significant first,
// spare bits of the last byte 0; arrays of them are 4-byte aligned, and on a device all of their
// last word is memory of theirs (allocate() sees to both). Widths of elements are 1, 2, 4 and 8
// bytes. All results are those of the CPU's own kernels, to the last bit.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kernels/block/grid.h"
#include "kernels/block/matrix.h"
#include "kernels/floats.h"
#include "kernels/nmg_exact.h"

namespace sten::kernels {

// n elements of a width.
struct Elements {
  const void* x;
  int width;
  std::int64_t n;
};

// Flat arrays: see kernels/elementwise.h.
struct ElementwiseFunctions {
  // Bits of all but `drop` elements: the smallest keys go first, among equals the later.
  void (*keep_largest)(Elements x, std::int64_t drop, std::uint8_t* bits, Stream);
  void (*nonzero_bits)(Elements x, std::uint8_t* bits, Stream);
  void (*mask_values)(Elements x, const std::uint8_t* bits, void* out, Stream);
  // values[bits that are set], in order.
  void (*compress)(Elements x, const std::uint8_t* bits, void* values, Stream);
  // out: x.n elements' places, as many of x as bits are set; n is how many bits there are.
  void (*expand)(const void* values, int width, const std::uint8_t* bits, std::int64_t n, void* out,
                 Stream);
  // These wait for the result.
  std::int64_t (*count_bits)(const std::uint8_t* bits, std::int64_t n, Stream);
  std::int64_t (*count_key)(Elements x, std::uint64_t key, Stream);
  std::int64_t (*count_nonzero)(Elements x, Stream);
  // x.n if there is none.
  std::int64_t (*first_not_finite)(Elements x, FloatKind, Stream);
  // sums[ceil(n / piece)] of two doubles, all and kept: sum_magnitudes() of each `piece` elements,
  // a multiple of 8.
  void (*sum_magnitudes)(Elements x, FloatKind, const std::uint8_t* bits, std::int64_t piece,
                         double* sums, Stream);
};

// n of m (libsten/layout/nm.h): blocks of m run along the rows of the matrices.
inline constexpr std::int64_t most_nm_on_device = 64;
struct NmFunctions {
  // 1 <= n <= m <= most_nm_on_device; the n of largest key of each m neighbours, the earlier one
  // among equals. `bits`, of the whole tensor, are 0 before; of n elements.
  void (*select)(const BlockMatrix&, std::int64_t n, std::int64_t m, Elements x, FloatKind,
                 std::uint8_t* bits, Stream);
  // values[lines, ceil(cols / m), n] and pos[lines, row_bytes] of bits that keep at most n of m
  // (which nobody checks); fillers are the lowest free positions.
  void (*pack)(const BlockMatrix&, std::int64_t n, std::int64_t m, Elements x,
               const std::uint8_t* bits, void* values, std::uint8_t* pos, std::int64_t row_bytes,
               Stream);
  // All elements of the tensor, 0 where nothing is stored.
  void (*unpack)(const BlockMatrix&, std::int64_t n, std::int64_t m, const void* values, int width,
                 const std::uint8_t* pos, std::int64_t row_bytes, void* out, Stream);
};

enum class NmgFitRule : std::uint8_t { exact, swaps };

// Parts of n:m:g (libsten/layout/nmg.h); nullptr where they are not asked for.
struct NmgParts {
  void* values = nullptr;               // [units, C, g, n]
  void* index = nullptr;                // [units, C, g], of 1 byte where C * g <= 256, else 2
  std::uint8_t* bits = nullptr;         // of the whole tensor, 0 before
  std::uint16_t* pattern_of = nullptr;  // [units, C * g], as NmgExactTable gives them
};

// n:m:g: strips run down rows. Units are chunk by chunk of row block by row block of matrix by
// matrix. The formats' patterns are on the device, too; their swaps are not used.
struct NmgFunctions {
  // Whether a chunk's fit finds room in the shared memory of a block.
  bool (*has_room)(const NmgFormat&, NmgFitRule);
  // Fits each chunk, and writes what is asked for: the same as the fit of the CPU with that rule.
  // has_room() holds.
  void (*prune)(const NmgFormat&, const BlockMatrix&, Elements x, FloatKind, NmgFitRule, NmgParts,
                Stream);
  // All elements of the tensor, 0 where nothing is stored.
  void (*unpack)(const NmgFormat&, const BlockMatrix&, const void* values, int width,
                 const void* index, void* out, Stream);
  // The values of a tensor's elements x where `index` says that they are; 0 in padding.
  void (*gather)(const NmgFormat&, const BlockMatrix&, const void* x, int width, const void* index,
                 void* values, Stream);
};

// C[rows, n] = A[rows, cols] B[cols, n], all float, row-major.
struct ProductOperands {
  std::int64_t rows, cols, n;
  const float* b;
  std::int64_t ldb;
  float* c;
  std::int64_t ldc;
};

// A that is ready to be multiplied, in a form of the library's own.
struct PreparedProduct {
  virtual ~PreparedProduct() = default;
  virtual void run(const ProductOperands&, Stream) = 0;
};

// Libraries are loaded when they are first needed; what they compute need not be the same bits as
// the CPU's. Floats are multiplied as such.
struct ProductFunctions {
  // "cuBLAS 13.0"; nullptr where there is none, and dense() is not called.
  const char* (*dense_library)();
  void (*dense)(const float* a, std::int64_t lda, const ProductOperands&, Stream);
  // Any format; the parts as they are stored. Every element of C is added up in the order of the
  // patterns and of the strips of their groups, chunk by chunk, by fused multiply-adds from 0; B is
  // 0 where A has padding.
  void (*nmg)(const NmgFormat&, const float* values, const void* index, const ProductOperands&,
              Stream);
  // A^T B: the operands' rows are A's columns. Sums are made in ascending order of A's rows. False, and
  // nothing was done, where n is not 1, and where the device has no room for it.
  bool (*nmg_transposed)(const NmgFormat&, const float* values, const void* index,
                         const ProductOperands&, Stream);
  // "cuSPARSE 12.6", likewise. row_ptr[rows + 1], columns[nnz].
  const char* (*csr_library)();
  PreparedProduct* (*csr)(std::int64_t rows, std::int64_t cols, std::int64_t nnz,
                          const std::int64_t* row_ptr, const std::int32_t* columns,
                          const float* values, Stream);
  // None of 2:4: cuSPARSELt takes floats with 1 of 2 alone.
};

}  // namespace sten::kernels
