// SPDX-License-Identifier: Apache-2.0
// NmFunctions over grids, as on a GPU.
#include "kernels/block/nm.h"

#include <doctest/doctest.h>

#include "libsten/core/sparsify/nm_magnitude.h"
#include "tests/support/checked_device.h"
#include "tests/support/device_views.h"
#include "tests/support/sanitized.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

// A tensor with ties, and its matrix view.
struct Case {
  Dense x;
  NmMagnitude cut;
  std::string name;
  MatrixView lines() const { return MatrixView::of(x.extents, cut.dims, cut.axis == 0); }
};

Case any_case(Dice& dice, Index round, Index most_m, Index max_rows) {
  const DType dtype = prunable_dtypes()[round % std::ssize(prunable_dtypes())];
  const Index m = dice.one_of<Index>(
      {1, 2, 3, 4, 4, 5, 7, 8, 8, 9, 12, 16, 32, 33, 64, 1 + dice.below(most_m)});
  const Index n = dice.below(2) ? 1 + dice.below(m) : std::max<Index>(1, m / 2);
  const Index rows = 1 + dice.below(max_rows);
  const Index cols = dice.below(3) ? dice.below(5 * m + 1) : m * 8 * (1 + dice.below(3));
  Case c;
  c.cut = NmMagnitude{n, m, dice.below(2), {}};
  Shape shape{rows, cols};
  if (c.cut.axis == 0) std::swap(shape[0], shape[1]);
  if (dice.below(3) == 0) {
    shape.insert(shape.begin() + dice.below(3), 1 + dice.below(4));
    shape.insert(shape.begin() + dice.below(4), 1 + dice.below(3));
    c.cut.dims.row = dice.below(4);
    do c.cut.dims.col = dice.below(4);
    while (c.cut.dims.col == c.cut.dims.row);
  }
  c.x = any_bits(dice, dtype, shape);
  if (dice.below(2))
    with_width(c.x.values.width(), [&]<class U>(U) {
      for (U& v : c.x.values.mutate<U>())
        v = static_cast<U>(dice.below(3) | dice.below(2) << (8 * sizeof(U) - 1));
    });
  c.name = fmt::format("round {}: {}:{} of {} [{}], axis {}, dims {}", round, n, m, name_of(dtype),
                       fmt::join(shape, ", "), c.cut.axis, c.cut.dims.str());
  return c;
}

template <class Grid>
void check_case(Dice& dice, const Case& c) {
  const kernels::NmFunctions f = kernels::nm_functions<Grid>();
  const kernels::BlockMatrix matrix = matrix_of(c.lines());
  const kernels::Elements in = elements_of(c.x.values);
  const Index n = c.cut.n, m = c.cut.m;

  Mask keep = Mask::none(c.x.extents);
  if (c.cut.select_by_row(c.x, c.lines(), keep.bits.mutate())) {
    Mask found = Mask::none(c.x.extents);
    f.select(matrix, n, m, in, kind_of(c.x.dtype()), found.bits.mutate(), nullptr);
    if (!same_mask(found, keep)) FAIL_CHECK(c.name << ": other elements are kept");
  }
  // A mask with fewer than n elements per block.
  if (dice.below(2))
    for (Index i = 0; i < keep.size(); ++i)
      if (dice.below(3) == 0) keep.set(i, false);

  Spec spec = Spec("nm").set("n", n).set("m", m).set("axis", c.cut.axis);
  if (c.cut.dims.given()) spec.set("dims", c.cut.dims.str());
  const Nm packed = Nm::pack(c.x, keep, spec);
  Nm out = Nm::unwritten(c.x.dtype(), c.x.extents, n, m, c.cut.axis, c.cut.dims);
  const Index lines = matrix.batches * matrix.rows,
              row_bytes = lines ? packed.pos.size() / lines : 0;
  std::fill_n(out.pos.mutate(), out.pos.size(), std::uint8_t{0xee});
  with_width(out.values.width(), [&]<class U>(U) {
    f.pack(matrix, n, m, in, keep.bits.data(), out.values.mutate<U>().data(), out.pos.mutate(),
           row_bytes, nullptr);
  });
  const auto same = [](auto a, auto b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  };
  if (!same(out.pos, packed.pos)) FAIL_CHECK(c.name << ": other positions");
  if (!same(out.values.bytes(), packed.values.bytes())) FAIL_CHECK(c.name << ": other values");

  Dense dense = any_bits(dice, c.x.dtype(), c.x.extents);
  with_width(out.values.width(), [&]<class U>(U) {
    f.unpack(matrix, n, m, packed.values.bytes().data(), in.width, packed.pos.data(), row_bytes,
             dense.values.mutate<U>().data(), nullptr);
  });
  if (!same_bits(dense, packed.to_dense())) FAIL_CHECK(c.name << ": other elements");
}

}  // namespace

TEST_CASE("n:m block kernels select, pack and unpack as the CPU's kernels do") {
  Dice dice(1);
  for (Index round = 0; round < (is_sanitized ? 300 : 1200); ++round)
    check_case<kernels::SerialGrid>(dice, any_case(dice, round, round % 10 ? 64 : 300, 24));
}

TEST_CASE("n:m block kernels match the CPU's in any order of threads and blocks") {
  Dice dice(2);
  CheckedDevice::reset(2);
  for (Index round = 0; round < 200; ++round)
    check_case<CheckedDevice>(dice, any_case(dice, round, 64, 60));
  CHECK(CheckedDevice::reports() == std::vector<std::string>{});
}
