// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/product/csr_product.h"

#include <algorithm>

#include "libsten/compute/product/tiles.h"
#include "libsten/core/base/parallel.h"
#include "libsten/core/base/scratch.h"

namespace sten {
namespace {

// Columns of B and y per step, and bytes of B per slab: data that are read repeatedly are
// contiguous and stay in the L2 cache.
constexpr Index panel = 128, slab_bytes = Index{1} << 19;
constexpr Index csr_slab_rows = slab_bytes / (panel * Index{sizeof(float)});
// With fewer rows of A, a copy costs more than it saves.
constexpr Index least_copied = 64;

// The rows of A, cut at the starts of slabs.
class Cut {
 public:
  explicit Cut(const CsrEntries& a)
      : a_(a), slabs_(std::max<Index>(1, ceil_div(a.cols, csr_slab_rows))) {
    if (slabs_ == 1) return;
    cuts_.resize((slabs_ + 1) * a.rows);
    parallel_for(a.rows, 256, [&](Index begin, Index end) {
      for (Index r = begin; r < end; ++r) {
        std::int64_t e = a.ptr[r];
        const std::int64_t last = a.ptr[r + 1];
        for (Index s = 0; s + 1 < slabs_; ++s) {
          cuts_[s * a.rows + r] = e;
          while (e < last && a.index[e] < (s + 1) * csr_slab_rows) ++e;
        }
        cuts_[(slabs_ - 1) * a.rows + r] = e;
        cuts_[slabs_ * a.rows + r] = last;
      }
    });
  }
  Index slabs() const { return slabs_; }
  // The first row of B in slab s.
  static Index first_of(Index s) { return s * csr_slab_rows; }
  Index count_of(Index s) const { return std::min(a_.cols - first_of(s), csr_slab_rows); }
  // Rows [first, first + count) of A in slab s.
  kernels::UnpackedCsr lines(Index s, Index first, Index count) const {
    const std::int64_t* from = (slabs_ == 1 ? a_.ptr : cuts_.data() + s * a_.rows) + first;
    return {count, from, from + (slabs_ == 1 ? 1 : a_.rows), a_.index, a_.values};
  }

 private:
  const CsrEntries& a_;
  Index slabs_;
  std::vector<std::int64_t> cuts_;  // [slabs + 1, rows]
};

// Some rows and columns of an operand, row-major.
struct Block {
  const float* at;
  Index stride;

  // The pointer that the kernel needs, which counts rows from row 0.
  const float* from_row_0(Index first) const { return at - first * stride; }
};
Block block_of(const RowsOperand& x, Index row, Index rows, Index col, Index cols, bool copy,
               Scratch& memory) {
  if (rows == 0) return {memory.of(panel), panel};  // the matrix may have no memory
  if (!copy && !x.sparse && !x.is_transposed) return {x.dense + row * x.stride + col, x.stride};
  float* to = memory.of(rows * panel);
  if (x.is_transposed) {
    transpose_tiles(x.dense + col * x.stride + row, x.stride, cols, rows, to, panel);
  } else if (!x.sparse) {
    for (Index r = 0; r < rows; ++r)
      std::copy_n(x.dense + (row + r) * x.stride + col, cols, to + r * panel);
  } else {
    std::fill_n(to, rows * panel, 0.0F);
    const CsrEntries& s = *x.sparse;
    for (Index r = 0; r < rows; ++r) {
      const std::int32_t *first = s.index + s.ptr[row + r], *last = s.index + s.ptr[row + r + 1];
      const std::int32_t* i = std::lower_bound(first, last, col);
      for (; i < last && *i < col + cols; ++i) to[r * panel + *i - col] = s.values[i - s.index];
    }
  }
  return {to, panel};
}

// Computes y[count, cols] of rows of A from `first` on and some columns of B.
void multiply(const Cut& a, Index first, Index count, const RowsOperand& b, Index col, Index cols,
              const float* start, float* y, Index y_stride) {
  thread_local Scratch memory;
  for (Index s = 0; s < a.slabs(); ++s) {
    const Index row = Cut::first_of(s);
    const Block of_b = block_of(b, row, a.count_of(s), col, cols, count >= least_copied, memory);
    kernels::csr_gemm().multiply_unpacked(a.lines(s, first, count), cols, of_b.from_row_0(row),
                                          of_b.stride, s == 0 ? start : nullptr, y, y_stride);
  }
}

// Calls f(first row, count, first column, count) on threads(), for panels of all rows, or of the
// fewest parts of rows that occupy all threads.
template <class F>
void each_panel(Index rows, Index most_rows, Index n, F&& f) {
  if (rows == 0 || n == 0) return;
  const Index panels = ceil_div(n, panel);
  const Index parts =
      std::max(ceil_div(rows, most_rows),
               threads() == 1 ? 1 : std::min(rows, ceil_div(3 * threads(), panels)));
  parallel_for(parts * panels, 1, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      const Index part = i / panels, col = i % panels * panel;
      const Index first = part * rows / parts, last = (part + 1) * rows / parts;
      f(first, last - first, col, std::min(panel, n - col));
    }
  });
}

}  // namespace

CsrEntries CsrTokens::with(const Tensor& x) const {
  return {tokens, features, ptr.data(), index.data(), x.values()->as<float>().data()};
}

std::shared_ptr<const CsrTokens> tokens_of(const Tensor& x) {
  if (x.dtype() != DType::F32 || !x.is<Csr>() || x.as<Csr>().dims.given())
    fail_unsupported("product: no product found for {} {} with dense", name_of(x.dtype()),
                     x.spec().str());
  return x.of_positions().get<CsrTokens>([&] {
    const Csr& m = x.as<Csr>();
    CsrTokens out{0, m.extents.back(), m.ptr, m.index};
    const Index rows = m.extents[0];
    out.tokens = rows;
    if (m.extents.size() == 2) return out;
    const Index in_row =
        size_of(m.extents) == 0 ? 0 : size_of(m.extents) / rows / out.features;  // tokens
    out.tokens = rows * in_row;
    out.ptr = Array<std::int64_t>(out.tokens + 1);
    out.index = Array<std::int32_t>::uninitialized(m.index.size());
    std::int64_t* ptr = out.ptr.mutate();
    std::int32_t* index = out.index.mutate();
    for (Index r = 0; r < rows; ++r) {
      std::int64_t e = m.ptr[r];
      for (Index t = 0; t < in_row; ++t) {
        const Index begin = t * out.features;
        for (; e < m.ptr[r + 1] && m.index[e] < begin + out.features; ++e)
          index[e] = static_cast<std::int32_t>(m.index[e] - begin);
        ptr[r * in_row + t + 1] = e;
      }
    }
    return out;
  });
}

void unpack_rows(const CsrEntries& a, Index first, Index count, float* to) {
  parallel_for(count, std::max<Index>(1, (Index{1} << 14) / (a.cols + 1)),
               [&](Index begin, Index end) {
                 std::fill(to + begin * a.cols, to + end * a.cols, 0.0F);
                 for (Index r = begin; r < end; ++r)
                   for (Index e = a.ptr[first + r]; e < a.ptr[first + r + 1]; ++e)
                     to[r * a.cols + a.index[e]] = a.values[e];
               });
}

TransposedEntries::TransposedEntries(const CsrEntries& a)
    : rows_(a.cols),
      cols_(a.rows),
      ptr_(a.cols + 1),
      index_(Array<std::int32_t>::uninitialized(a.ptr[a.rows] - a.ptr[0])),
      values_(Array<float>::uninitialized(a.ptr[a.rows] - a.ptr[0])) {
  for (std::int64_t e = a.ptr[0]; e < a.ptr[a.rows]; ++e) ++ptr_[a.index[e] + 1];
  for (Index c = 0; c < a.cols; ++c) ptr_[c + 1] += ptr_[c];
  std::vector<std::int64_t> next(ptr_.begin(), ptr_.end() - 1);
  std::int32_t* index = index_.mutate();
  float* values = values_.mutate();
  for (Index r = 0; r < a.rows; ++r)
    for (std::int64_t e = a.ptr[r]; e < a.ptr[r + 1]; ++e) {
      const std::int64_t at = next[a.index[e]]++;
      index[at] = static_cast<std::int32_t>(r);
      values[at] = a.values[e];
    }
}

void csr_product(const CsrEntries& a, const RowsOperand& b, Index col0, Index n, const float* start,
                 float* y) {
  const std::vector<float> zeros(start ? 0 : panel);
  const Cut cut(a);
  each_panel(a.rows, std::max<Index>(1, a.rows), n,
             [&](Index first, Index count, Index col, Index cols) {
               multiply(cut, first, count, b, col0 + col, cols, start ? start + col : zeros.data(),
                        y + first * n + col, n);
             });
}

void transposed_csr_product(const CsrEntries& a, const RowsOperand& b, Index col0, Index n,
                            float* y) {
  constexpr Index most_rows = 4096;
  const std::vector<float> zeros(panel);
  const Cut cut(a);
  each_panel(a.rows, most_rows, n, [&](Index first, Index count, Index col, Index cols) {
    thread_local Scratch memory;
    float* sums = memory.of(count * panel);
    multiply(cut, first, count, b, col0 + col, cols, zeros.data(), sums, panel);
    transpose_tiles(sums, panel, count, cols, y + col * a.rows + first, a.rows);
  });
}

void sampled_csr_product(const CsrEntries& a, const RowsOperand& c, const RowsOperand& b, Index n,
                         float* sums) {
  const std::int64_t entry0 = a.ptr[0];
  const Cut cut(a);
  // All panels of some rows on one thread, since they add to the same sums.
  const Index most = c.sparse ? csr_slab_rows : std::max<Index>(1, a.rows);
  const Index parts =
      std::max(ceil_div(a.rows, most), threads() == 1 ? 1 : std::min<Index>(a.rows, 2 * threads()));
  parallel_for(a.rows == 0 ? 0 : parts, 1, [&](Index begin, Index end) {
    thread_local Scratch memory, of_b;
    for (Index i = begin; i < end; ++i) {
      const Index first = i * a.rows / parts, count = (i + 1) * a.rows / parts - first;
      std::fill(sums + a.ptr[first] - entry0, sums + a.ptr[first + count] - entry0, 0.0F);
      for (Index col = 0; col < n; col += panel) {
        const Index cols = std::min(panel, n - col);
        const Block left = block_of(c, first, count, col, cols, false, memory);
        for (Index s = 0; s < cut.slabs(); ++s) {
          const Index row = Cut::first_of(s);
          const Block right =
              block_of(b, row, cut.count_of(s), col, cols, count >= least_copied, of_b);
          kernels::csr_gemm().sample_unpacked(cut.lines(s, first, count), cols,
                                              right.from_row_0(row), right.stride, left.at,
                                              left.stride, sums - entry0);
        }
      }
    }
  });
}

}  // namespace sten
