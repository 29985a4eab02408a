#include "libsten/layout/nm.h"

#include <algorithm>
#include <bit>

#include "libsten/base/error.h"
#include "libsten/base/parallel.h"
#include "libsten/layout/compressed.h"

namespace sten {
namespace {

// Positions are at most 16 bits wide.
constexpr Index max_block = Index{1} << 16;

int position_bits(Index m) { return std::bit_width(static_cast<std::uint64_t>(m - 1)); }

// Bits of one line, least significant first. Writing needs zeroed bytes.
std::uint32_t read_bits(const std::uint8_t* line, Index bit, int width) {
  std::uint32_t v = 0;
  for (int b = 0; b < width; ++b) v |= std::uint32_t{bit_at(line, bit + b)} << b;
  return v;
}
void write_bits(std::uint8_t* line, Index bit, int width, std::uint32_t v) {
  for (int b = 0; b < width; ++b)
    if (v >> b & 1) set_bit(line, bit + b);
}

// Lines that hold anything: without columns there may be any number of empty ones.
Index line_count(const MatrixView& v) { return v.cols ? v.batches * v.rows : 0; }

Index line_bytes(const MatrixView& v, Index n, Index m) {
  // Checked: beside an extent of 0 the others may be huge.
  return ceil_div(checked_size({ceil_div(v.cols, m), n, position_bits(m)}), 8);
}

}  // namespace

void check_n_of_m(Index n, Index m, Index axis) {
  if (n < 1 || m < 1 || n > m)
    fail_usage("n={},m={}: n of m are kept, so 1 <= n <= m must hold", n, m);
  if (axis != 0 && axis != 1) fail_usage("axis={} is neither 0 nor 1", axis);
}

void Nm::check(const Spec& spec) {
  const Index m = spec.integer("m");
  check_n_of_m(spec.integer("n"), m, spec.integer("axis", 1));
  if (m > max_block) fail_usage("m={} is more than {}", m, max_block);
  dims_of(spec);
}

Shape Nm::values_shape() const {
  check(Spec("nm").set("n", n).set("m", m).set("axis", axis));
  const MatrixView v = view();
  Shape s = v.part({v.rows, ceil_div(v.cols, m), n});
  checked_size(s);
  return s;
}

Shape Nm::pos_shape() const {
  const MatrixView v = view();
  return v.part({v.rows, line_bytes(v, n, m)});
}

Nm Nm::unwritten(DType dtype, const Shape& shape, Index n, Index m, Index axis, Dims dims) {
  Nm out{shape, n, m, axis, dims, {}, {}};
  out.values = Values::uninitialized(dtype, size_of(out.values_shape()));
  out.pos = Array<std::uint8_t>::uninitialized(size_of(out.pos_shape()));
  return out;
}

Nm Nm::pack(const Dense& x, const Mask& keep, const Spec& spec) {
  check(spec);
  check_same_shape(x, keep);
  Nm out;
  out.extents = x.extents;
  out.n = spec.integer("n");
  out.m = spec.integer("m");
  out.axis = spec.integer("axis", 1);
  out.dims = dims_of(spec);
  const Index n = out.n, m = out.m;
  const MatrixView v = out.view();
  const Index blocks = ceil_div(v.cols, m), lines = line_count(v), stride = line_bytes(v, n, m);
  const int width = position_bits(m);
  out.values = Values(x.dtype(), size_of(out.values_shape()));
  out.pos = Array<std::uint8_t>(lines * stride);
  std::uint8_t* pos = out.pos.mutate();
  const std::uint8_t* bits = keep.bits.data();

  with_width(x.values.width(), [&]<class U>(U) {
    const auto from = x.values.as<U>();
    const auto to = out.values.mutate<U>();
    parallel_for(lines, std::max<Index>(1, mask_grain / (v.cols + 1)), [&](Index begin, Index end) {
      for (Index l = begin; l < end; ++l) {
        const Index start = v.line_offset(l);
        for (Index b = 0; b < blocks; ++b) {
          const auto kept_at = [&](Index p) {
            const Index c = b * m + p;
            return c < v.cols && bit_at(bits, start + c * v.col_stride);
          };
          Index kept = 0;
          for (Index p = 0; p < m; ++p) kept += kept_at(p);
          if (kept > n)
            fail("{} keeps {} of the {} positions of {} {} from {} {} on", spec.str(), kept, m,
                 out.axis == 1 ? "row" : "column", l, out.axis == 1 ? "column" : "row", b * m);
          Index fill = n - kept, slot = (l * blocks + b) * n;
          for (Index p = 0; p < m && slot < (l * blocks + b + 1) * n; ++p) {
            const bool keeps = kept_at(p);
            if (!keeps && fill == 0) continue;
            fill -= !keeps;
            write_bits(pos + l * stride, (slot - l * blocks * n) * width, width,
                       static_cast<std::uint32_t>(p));
            if (keeps) to[slot] = from[start + (b * m + p) * v.col_stride];
            ++slot;
          }
        }
      }
    });
  });
  return out;
}

// f(slot, dense offset or -1 in padding, line, block, position), in parallel over lines.
template <class F>
void Nm::for_each_slot(F&& f) const {
  const MatrixView v = view();
  const Index blocks = ceil_div(v.cols, m), stride = line_bytes(v, n, m);
  const int width = position_bits(m);
  parallel_for(
      line_count(v), std::max<Index>(1, mask_grain / (v.cols + 1)), [&](Index begin, Index end) {
        for (Index l = begin; l < end; ++l) {
          const Index start = v.line_offset(l);
          for (Index s = 0; s < blocks * n; ++s) {
            const Index p = read_bits(pos.data() + l * stride, s * width, width);
            const Index c = s / n * m + p;
            f(l * blocks * n + s, c < v.cols ? start + c * v.col_stride : Index{-1}, l, s / n, p);
          }
        }
      });
}

Dense Nm::to_dense() const {
  Dense x = Dense::zeros(values.dtype(), extents);
  with_width(values.width(), [&]<class U>(U) {
    const auto from = values.as<U>();
    const auto to = x.values.mutate<U>();
    for_each_slot([&](Index slot, Index at, Index, Index, Index) {
      if (at >= 0) to[at] = from[slot];
    });
  });
  return x;
}

Mask Nm::stored() const {
  Mask mask = Mask::none(extents);
  std::uint8_t* bits = mask.bits.mutate();
  // Neighbouring lines share bytes of the mask.
  for_each_slot([&](Index, Index at, Index, Index, Index) {
    if (at >= 0) set_bit_shared(bits, at);
  });
  return mask;
}

std::vector<Index> Nm::offsets() const {
  std::vector<Index> all(values.size(), -1);
  for_each_slot([&](Index slot, Index at, Index, Index, Index) { all[slot] = at; });
  return all;
}

double Nm::padding() const {
  const MatrixView v = view();
  return v.cols ? static_cast<double>(ceil_div(v.cols, m) * m) / static_cast<double>(v.cols) - 1
                : 0;
}

void Nm::loaded() const {
  const MatrixView v = view();
  const Index blocks = ceil_div(v.cols, m), stride = line_bytes(v, n, m);
  const int width = position_bits(m);
  with_width(values.width(), [&]<class U>(U) {
    const auto stored = values.as<U>();
    for_each_slot([&](Index slot, Index at, Index l, Index b, Index p) {
      if (p >= m) fail("line {}, block {}: position {} of {}", l, b, p, m);
      if (slot % n) {
        const Index last =
            read_bits(pos.data() + l * stride, (slot - l * blocks * n - 1) * width, width);
        if (p <= last) fail("line {}, block {}: position {} after {}", l, b, p, last);
      }
      if (at < 0 && stored[slot] != U{0})
        fail("line {}, block {}: position {} is padding but not 0", l, b, p);
    });
  });
  const Index used = blocks * n * width;
  for (Index l = 0; used % 8 && l < v.batches * v.rows; ++l)
    if (pos[l * stride + stride - 1] >> used % 8) fail("line {}: spare position bits are set", l);
}

}  // namespace sten
