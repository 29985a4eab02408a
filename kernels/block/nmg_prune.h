// n:m:g of whole tensors, a block of threads a chunk.
#pragma once
#include "kernels/block/functions.h"
#include "kernels/block/nmg_exact_chunk.h"

namespace sten::kernels {

// A chunk of one row block.
struct NmgBlockUnit {
  std::int64_t rows, cols;  // besides padding
  std::int64_t offset;      // of its first element

  STEN_HOST_DEVICE NmgBlockUnit(const NmgFormat& f, const BlockMatrix& matrix, std::int64_t u) {
    const std::int64_t chunks = (matrix.cols + f.strips() - 1) / f.strips();
    const std::int64_t row_blocks = (matrix.rows + f.m - 1) / f.m;
    const std::int64_t row = u / chunks % row_blocks * f.m, col = u % chunks * f.strips();
    rows = matrix.rows - row < f.m ? matrix.rows - row : f.m;
    cols = matrix.cols - col < f.strips() ? matrix.cols - col : f.strips();
    offset = matrix.batch_offset(u / (row_blocks * chunks)) + row * matrix.row_stride +
             col * matrix.col_stride;
  }
  static std::int64_t count(const NmgFormat& f, const BlockMatrix& matrix) {
    return matrix.batches * ((matrix.rows + f.m - 1) / f.m) *
           ((matrix.cols + f.strips() - 1) / f.strips());
  }
};

template <class E, int size>
struct NmgFitKernel {
  static constexpr int threads = size;
  NmgFormat format;
  BlockMatrix matrix;
  const E* x;
  std::uint16_t* pattern_of;

  std::int64_t blocks() const { return NmgBlockUnit::count(format, matrix); }
  std::size_t shared_bytes() const { return nmg_exact_shared(format, size); }
  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t u) const {
    const NmgBlockUnit unit(format, matrix, u);
    const NmgStrips<E> strips{x + unit.offset, matrix.row_stride, unit.rows, unit.cols};
    nmg_exact_chunk<E>(b, format, strips, pattern_of + u * format.strips());
  }
};

template <class Grid, class E>
void nmg_fit(Grid& grid, const NmgFormat& f, const BlockMatrix& matrix, const E* x,
             std::uint16_t* pattern_of) {
  // Of few patterns a warp, whose phases end without a barrier.
  if (f.strips() <= 64)
    grid.launch(NmgFitKernel<E, 32>{f, matrix, x, pattern_of});
  else
    grid.launch(NmgFitKernel<E, 128>{f, matrix, x, pattern_of});
}

template <class Grid>
struct NmgOn {
  static bool has_room(const NmgFormat& f, NmgFitRule) {
    return nmg_exact_shared(f, f.strips() <= 64 ? 32 : 128) <= Grid(nullptr).most_shared();
  }
  static void prune(const NmgFormat& f, const BlockMatrix& matrix, Elements x, FloatKind kind,
                    NmgFitRule, NmgParts to, Stream stream) {
    Grid grid(stream);
    if (kind == FloatKind::f32)
      nmg_fit(grid, f, matrix, static_cast<const float*>(x.x), to.pattern_of);
    if (kind == FloatKind::f64)
      nmg_fit(grid, f, matrix, static_cast<const double*>(x.x), to.pattern_of);
  }
};

template <class Grid>
NmgFunctions nmg_functions() {
  using On = NmgOn<Grid>;
  return {On::has_room, On::prune, nullptr};
}

}  // namespace sten::kernels
