// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/layout/nm.h"

#include <algorithm>
#include <atomic>
#include <bit>

#include "libsten/core/base/error.h"
#include "libsten/core/base/parallel.h"
#include "libsten/core/layout/nmg.h"
#include "libsten/core/layout/slot_values.h"
#include "libsten/core/tensor/device_view.h"
#include "libsten/core/tensor/layout.h"
#include "libsten/core/tensor/occupancy.h"
#include "libsten/core/tensor/row_tiles.h"

namespace sten {
namespace {

// Positions have at most 16 bits.
constexpr Index max_block = Index{1} << 16;

int position_bits(Index m) { return std::bit_width(static_cast<std::uint64_t>(m - 1)); }

// The number of rows with elements: a matrix without columns may have any number of rows.
Index row_count(const MatrixView& v) { return v.cols ? v.batches * v.rows : 0; }

Index bytes_of_row(const MatrixView& v, Index n, Index m) {
  // Checked, because next to an extent of 0 the other extents may be huge.
  return ceil_div(checked_size({ceil_div(v.cols, m), n, position_bits(m)}), 8);
}

}  // namespace

void Nm::check(const Spec& spec) {
  const Index m = spec.integer("m");
  check_n_of_m(spec.integer("n"), m, spec.integer("axis", 1));
  if (m > max_block) fail_usage("m={} is above {}", m, max_block);
  dims_of(spec);
}

bool Nm::includes(const Spec& spec, const Spec& other) {
  if (!other.is(name) && !other.is(Nmg::name)) return false;
  const auto axis = [](const Spec& s) { return s.integer("axis", s.is(name) ? 1 : 0); };
  return axis(other) == axis(spec) && other.word("dims", "") == spec.word("dims", "") &&
         other.integer("m") == spec.integer("m") && other.integer("n") <= spec.integer("n");
}

Shape Nm::values_shape() const {
  check(Spec(name).set("n", n).set("m", m).set("axis", axis));
  const MatrixView v = view();
  Shape s = v.part({v.rows, ceil_div(v.cols, m), n});
  checked_size(s);
  return s;
}

Shape Nm::pos_shape() const {
  const MatrixView v = view();
  return v.part({v.rows, bytes_of_row(v, n, m)});
}

Nm Nm::unwritten(DType dtype, const Shape& shape, Index n, Index m, Index axis, Dims dims,
                 Device device) {
  Nm out{shape, n, m, axis, dims, {}, {}};
  out.values = Values::uninitialized(dtype, size_of(out.values_shape()), device);
  out.pos = Array<std::uint8_t>::uninitialized(size_of(out.pos_shape()), device);
  return out;
}

std::optional<Index> Nm::bytes(const Spec& spec, const Occupancy& of) {
  const auto out = with_parameters<Nm>(of.positions().extents, spec);
  return size_of(out.values_shape()) * of.width() + size_of(out.pos_shape());
}

Nm Nm::pack(const Dense& x, const Mask& keep, const Spec& spec) {
  check(spec);
  check_same_shape(x, keep);
  const Index m = spec.integer("m");
  Nm out =
      unwritten(x.dtype(), x.extents, spec.integer("n"), m, spec.integer("axis", 1), dims_of(spec));
  const std::uint8_t* bits = keep.bits.data();
  std::atomic<bool> fits = true;
  with_width(x.values.width(), [&]<class U>(U) {
    const U* from = x.values.as<U>().data();
    if (m > NmPositions::most) {
      fits = out.pack_bit_by_bit(from, bits);
      return;
    }
    const NmWriter<U> writer = out.writer<U>();
    const RowTiles pieces(out.view(), m);
    parallel_for(pieces.units(), pieces.grain(), [&](Index begin, Index end) {
      RowTiles::Buffer<U> values;
      RowTiles::Words words;
      for (Index u = begin; u < end; ++u)
        pieces.each(u, [&](const RowTiles::Tile& p) {
          values.read(pieces, p, from);
          pieces.get_bits(p, bits, words);
          for (Index l = 0; l < p.lines; ++l)
            if (!writer.pack(p.line + l, p.col, p.cols, values.values + l * values.stride,
                             words + l * pieces.words_per_row()))
              fits = false;
        });
    });
  });
  if (!fits) out.refuse(bits, spec);
  return out;
}

// Returns false if a block keeps more than n.
template <class U>
bool Nm::pack_bit_by_bit(const U* x, const std::uint8_t* bits) {
  const MatrixView v = view();
  const Index blocks = ceil_div(v.cols, m), lines = row_count(v), stride = bytes_of_row(v, n, m);
  const int width = position_bits(m);
  U* values_begin = values.mutate<U>().data();
  std::uint8_t* pos_begin = pos.mutate();
  std::atomic<bool> fits = true;
  parallel_for(lines, std::max<Index>(1, mask_grain / (v.cols + 1)), [&](Index begin, Index end) {
    for (Index l = begin; l < end; ++l) {
      const Index start = v.row_offset(l);
      BitWriter out(pos_begin + l * stride, 0);
      for (Index b = 0; b < blocks; ++b) {
        const auto kept_at = [&](Index p) {
          const Index c = b * m + p;
          return c < v.cols && bit_at(bits, start + c * v.col_stride);
        };
        Index kept = 0;
        for (Index p = 0; p < m; ++p) kept += kept_at(p);
        if (kept > n) {
          fits = false;
          return;
        }
        U* to = values_begin + (l * blocks + b) * n;
        U* const to_end = to + n;
        for (Index p = 0, fillers = n - kept; p < m && to < to_end; ++p) {
          const bool keeps = kept_at(p);
          if (!keeps && fillers == 0) continue;
          fillers -= !keeps;
          out.add(static_cast<std::uint64_t>(p), width);
          *to++ = keeps ? x[start + (b * m + p) * v.col_stride] : U{0};
        }
      }
      out.finish();
    }
  });
  return fits;
}

// Throws Error for the first block that keeps more than n.
void Nm::refuse(const std::uint8_t* bits, const Spec& spec) const {
  const MatrixView v = view();
  for (Index l = 0; l < row_count(v); ++l) {
    const Index start = v.row_offset(l);
    for (Index c = 0; c < v.cols; c += m) {
      Index kept = 0;
      for (Index i = c; i < std::min(c + m, v.cols); ++i)
        kept += bit_at(bits, start + i * v.col_stride);
      if (kept > n)
        fail("{} cannot hold {} kept positions in the block of {} elements of {} {} from {} {}",
             spec.str(), kept, m, axis == 1 ? "row" : "column", l, axis == 1 ? "column" : "row", c);
    }
  }
}

// Calls f(slot), in parallel over rows and in order within a row.
template <class F>
void Nm::for_each_slot(F&& f) const {
  const MatrixView v = view();
  const Index blocks = ceil_div(v.cols, m), stride = bytes_of_row(v, n, m);
  const int width = position_bits(m);
  parallel_for(row_count(v), std::max<Index>(1, mask_grain / (v.cols + 1)),
               [&](Index begin, Index end) {
                 for (Index l = begin; l < end; ++l) {
                   const Index start = v.row_offset(l);
                   const std::uint8_t* line = pos.data() + l * stride;
                   BitReader in(line, 0, line + stride);
                   Slot s{l * blocks * n, -1, l, 0, 0, -1};
                   for (; s.block < blocks; ++s.block) {
                     s.before = -1;
                     for (Index i = 0; i < n; ++i, ++s.index) {
                       s.position = in.next(width);
                       const Index c = s.block * m + s.position;
                       s.at = c < v.cols ? start + c * v.col_stride : Index{-1};
                       f(std::as_const(s));
                       s.before = s.position;
                     }
                   }
                 }
               });
}

// Calls f(tile, slots of its rows), in parallel over units, for m <= NmPositions::most.
template <class F>
void Nm::for_each_tile(const RowTiles& pieces, F&& f) const {
  const MatrixView v = view();
  const NmPositions positions(n, m);
  const Index stride = bytes_of_row(v, n, m);
  parallel_for(pieces.units(), pieces.grain(), [&](Index begin, Index end) {
    RowTiles::Words words;
    for (Index u = begin; u < end; ++u)
      pieces.each(u, [&](const RowTiles::Tile& p) {
        for (Index l = 0; l < p.lines; ++l) {
          std::uint64_t* slots = words + l * pieces.words_per_row();
          positions.read(pos.data() + (p.line + l) * stride, stride, p.col / m, ceil_div(p.cols, m),
                         slots);
          // Slots in padding are not elements.
          if (p.cols % 64) slots[p.cols / 64] &= ~(~std::uint64_t{0} << p.cols % 64);
          if (ceil_div(ceil_div(p.cols, m) * m, 64) > ceil_div(p.cols, 64))
            slots[ceil_div(p.cols, 64)] = 0;
        }
        f(p, words);
      });
  });
}

bool Nm::unpacks_on_device() const {
  return m <= kernels::most_nm_on_device && block_matrix(view()).has_value();
}

Dense Nm::to_dense() const {
  if (values.device() != Device::cpu) {
    Dense x{extents, Values::uninitialized(values.dtype(), size_of(extents), values.device())};
    std::byte* to = x.values.mutate_bytes();
    launch(&kernels::NmFunctions::unpack, *block_matrix(view()), n, m, values.bytes().data(),
           values.width(), pos.data(), row_bytes(), to);
    return x;
  }
  if (m > NmPositions::most)
    return dense_of_slots(values, extents, [&](auto&& f) {
      for_each_slot([&](const Slot& s) { f(s.index, s.at); });
    });
  Dense x{extents, Values::uninitialized(values.dtype(), size_of(extents))};
  const MatrixView v = view();
  const RowTiles pieces(v, m);
  const Index blocks = ceil_div(v.cols, m);
  with_width(values.width(), [&]<class U>(U) {
    const U* from = values.as<U>().data();
    U* to = x.values.mutate<U>().data();
    const auto expand = kernels::elementwise().of<U>().expand;
    for_each_tile(pieces, [&](const RowTiles::Tile& p, const RowTiles::Words& words) {
      RowTiles::Buffer<U> out;
      U* lines = out.begin(pieces, p, to);
      for (Index l = 0; l < p.lines; ++l)
        expand(from + ((p.line + l) * blocks + p.col / m) * n,
               reinterpret_cast<const std::uint8_t*>(words + l * pieces.words_per_row()), p.cols,
               lines + l * out.stride);
      out.end(pieces, p, to);
    });
  });
  return x;
}

Mask Nm::stored() const {
  if (values.device() != Device::cpu) return slots_on_device(*this);
  Mask mask = Mask::none(extents);
  std::uint8_t* bits = mask.bits.mutate();
  if (m <= NmPositions::most) {
    const RowTiles pieces(view(), m);
    for_each_tile(pieces, [&](const RowTiles::Tile& p, const RowTiles::Words& words) {
      pieces.set_bits(p, words, bits);
    });
    return mask;
  }
  // Neighbouring rows share bytes of the mask.
  for_each_slot([&](const Slot& s) {
    if (s.at >= 0) set_bit_shared(bits, s.at);
  });
  return mask;
}

std::vector<Index> Nm::offsets() const {
  std::vector<Index> all(values.size(), -1);
  for_each_slot([&](const Slot& s) { all[s.index] = s.at; });
  return all;
}

double Nm::padding() const {
  const MatrixView v = view();
  return v.cols ? static_cast<double>(ceil_div(v.cols, m) * m) / static_cast<double>(v.cols) - 1
                : 0;
}

void Nm::loaded() const {
  const MatrixView v = view();
  const Index blocks = ceil_div(v.cols, m), stride = bytes_of_row(v, n, m);
  const int width = position_bits(m);
  with_width(values.width(), [&]<class U>(U) {
    const auto stored = values.as<U>();
    for_each_slot([&](const Slot& s) {
      if (s.position >= m)
        fail("row {}, block {}: position {} is out of range for m={}", s.line, s.block, s.position,
             m);
      if (s.position <= s.before)
        fail("row {}, block {}: position {} follows position {}", s.line, s.block, s.position,
             s.before);
      if (s.at < 0 && stored[s.index] != U{0})
        fail("row {}, block {}: position {} is padding but not 0", s.line, s.block, s.position);
    });
  });
  const Index used = blocks * n * width;
  for (Index l = 0; used % 8 && l < v.batches * v.rows; ++l)
    if (pos[l * stride + stride - 1] >> used % 8) fail("row {}: spare position bits are not 0", l);
}

}  // namespace sten
