// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/layout/nmg.h"

#include "libsten/core/base/error.h"
#include "libsten/core/layout/compressed.h"
#include "libsten/core/layout/nmg_matching.h"
#include "libsten/core/layout/nmg_slots.h"
#include "libsten/core/layout/slot_values.h"
#include "libsten/core/tensor/device_view.h"
#include "libsten/core/tensor/layout.h"
#include "libsten/core/tensor/occupancy.h"

namespace sten {
void Nmg::check(const Spec& spec) {
  const Index n = spec.integer("n"), m = spec.integer("m");
  NmgGeometry::check(n, m, spec.integer("g"), spec.integer("axis", 0));
  dims_of(spec);
  PatternTable::get(n, m);
}

bool Nmg::includes(const Spec& spec, const Spec& other) {
  return other.is(name) && other.integer("axis", 0) == spec.integer("axis", 0) &&
         other.word("dims", "") == spec.word("dims", "") &&
         other.integer("m") == spec.integer("m") && other.integer("n") == spec.integer("n") &&
         other.integer("g") == spec.integer("g");
}

Shape Nmg::part_shape(bool with_n) const {
  const NmgGeometry geo = geometry();
  Shape s = geo.view.part({geo.row_blocks, geo.chunks, geo.patterns, g});
  if (with_n) s.push_back(n);
  checked_size(s);
  return s;
}

std::optional<Index> Nmg::bytes(const Spec& spec, const Occupancy& of) {
  const auto out = with_parameters<Nmg>(of.positions().extents, spec);
  return size_of(out.part_shape(true)) * of.width() +
         size_of(out.part_shape(false)) * width_of(out.geometry().index_dtype());
}

Nmg Nmg::unwritten(DType dtype, const Shape& shape, Index n, Index m, Index g, Index axis,
                   Dims dims, Device device) {
  Nmg out{shape, n, m, g, axis, dims, {}, {}};
  const DType index = out.geometry().index_dtype();
  out.values = Values::uninitialized(dtype, size_of(out.part_shape(true)), device);
  out.index = Values::uninitialized(index, size_of(out.part_shape(false)), device);
  return out;
}

Nmg Nmg::pack(const Dense& x, const Mask& keep, const Spec& spec, std::string_view what) {
  check(spec);
  check_same_shape(x, keep);
  Nmg out = unwritten(x.dtype(), x.extents, spec.integer("n"), spec.integer("m"), spec.integer("g"),
                      spec.integer("axis", 0), dims_of(spec));
  const NmgGeometry geo = out.geometry();
  const auto table = PatternTable::get(geo.n, geo.m);
  const bool narrow = out.index.width() == 1;
  std::uint8_t* index8 = narrow ? out.index.mutate<std::uint8_t>().data() : nullptr;
  std::uint16_t* index16 = narrow ? nullptr : out.index.mutate<std::uint16_t>().data();
  const std::uint8_t* bits = keep.bits.data();

  with_width(x.values.width(), [&]<class U>(U) {
    const auto from = x.values.as<U>();
    const auto to = out.values.mutate<U>();
    parallel_for(geo.units(), nmg_grain(geo), [&](Index begin, Index end) {
      ChunkMatcher matcher(*table, geo.g);
      ChunkPositions kept(geo);
      for (Index u = begin; u < end; ++u) {
        const NmgUnit unit(geo, u);
        kept.clear();
        for (Index s = 0; s < unit.cols; ++s)
          for (Index p = 0; p < unit.rows; ++p)
            if (bit_at(bits, nmg_offset(geo, unit, p, s)) && !kept.keep(s, p))
              refuse_strip(what, unit, out.axis, geo.n, s);
        if (!matcher.match(kept)) refuse_chunk(what, unit, out.axis, geo.g);
        const auto write = [&](auto* index) {
          write_matched(geo, unit, *table, kept, matcher, from.data(),
                        to.data() + u * geo.strips * geo.n, index + u * geo.strips);
        };
        if (narrow)
          write(index8);
        else
          write(index16);
      }
    });
  });
  return out;
}

bool Nmg::unpacks_on_device() const { return block_matrix(geometry().view).has_value(); }

Dense Nmg::to_dense() const {
  if (values.device() != Device::cpu) {
    Dense x{extents, Values::uninitialized(values.dtype(), size_of(extents), values.device())};
    const NmgGeometry geo = geometry();
    const DeviceNmgPatterns patterns(n, m, values.device());
    std::byte* to = x.values.mutate_bytes();
    launch(&kernels::NmgFunctions::unpack, patterns.format(g), *block_matrix(geo.view),
           values.bytes().data(), values.width(), index.bytes().data(), to);
    return x;
  }
  return dense_of_slots(values, extents, [&](auto&& f) {
    for_each_nmg_slot(geometry(), index,
                      [&](Index slot, Index at, const NmgUnit&) { f(slot, at); });
  });
}

Mask Nmg::stored() const {
  if (values.device() != Device::cpu) return slots_on_device(*this);
  Mask mask = Mask::none(extents);
  std::uint8_t* bits = mask.bits.mutate();
  // Units share bytes of the mask at their edges.
  for_each_nmg_slot(geometry(), index, [&](Index, Index at, const NmgUnit&) {
    if (at >= 0) set_bit_shared(bits, at);
  });
  return mask;
}

std::vector<Index> Nmg::offsets() const {
  std::vector<Index> all(values.size(), -1);
  for_each_nmg_slot(geometry(), index,
                    [&](Index slot, Index at, const NmgUnit&) { all[slot] = at; });
  return all;
}

double Nmg::padding() const {
  const NmgGeometry geo = geometry();
  const auto area = static_cast<double>(geo.view.rows) * static_cast<double>(geo.view.cols);
  const auto padded =
      static_cast<double>(geo.row_blocks * m) * static_cast<double>(geo.chunks * geo.strips);
  return area > 0 ? padded / area - 1 : 0;
}

void Nmg::loaded() const {
  check_nmg_index(geometry(), index);
  with_width(values.width(), [&]<class U>(U) {
    const auto stored = values.as<U>();
    for_each_nmg_slot(geometry(), index, [&](Index slot, Index at, const NmgUnit& unit) {
      if (at < 0 && stored[slot] != U{0})
        fail("{}: a value in padding is not 0", text_of(unit, axis));
    });
  });
}

}  // namespace sten
