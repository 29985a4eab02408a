// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/sparsify/nmg_fit.h"

#include <algorithm>

#include "kernels/nmg_write.h"
#include "libsten/core/base/error.h"
#include "libsten/core/layout/nmg_matching.h"
#include "libsten/core/tensor/device_view.h"

namespace sten {
namespace {

// Sets the kept positions of fitted strips in a mask.
class ChunkBits {
 public:
  ChunkBits(const NmgGeometry& geo, const PatternTable& table, std::uint8_t* bits)
      : geo_(geo), table_(table), bits_(bits), rows_(geo.m) {}

  // Units share bytes of the mask at their edges.
  void set(const NmgUnit& unit, const std::uint16_t* pattern_of) {
    if (geo_.view.col_stride == 1) {
      for (Index s = 0; s < unit.cols; s += 64)
        set_rows(unit, pattern_of + s, s, std::min<Index>(64, unit.cols - s));
    } else {
      for (Index s = 0; s < unit.cols; ++s)
        for (const std::uint16_t r : table_[pattern_of[s]])
          if (r < unit.rows)
            set_bit_shared(bits_,
                           unit.offset + r * geo_.view.row_stride + s * geo_.view.col_stride);
    }
  }

 private:
  // Sets the bits of up to 64 neighbouring strips.
  void set_rows(const NmgUnit& unit, const std::uint16_t* pattern_of, Index s0, Index strips) {
    std::fill(rows_.begin(), rows_.end(), 0);
    for (Index s = 0; s < strips; ++s)
      for (const std::uint16_t r : table_[pattern_of[s]]) rows_[r] |= std::uint64_t{1} << s;
    for (Index r = 0; r < unit.rows; ++r)
      set_bits_shared(bits_, unit.offset + r * geo_.view.row_stride + s0, rows_[r]);
  }

  const NmgGeometry& geo_;
  const PatternTable& table_;
  std::uint8_t* bits_;
  std::vector<std::uint64_t> rows_;
};

// The device algorithm of a method; no value if there is none.
std::optional<kernels::NmgFitRule> rule_of(FitMethod method) {
  if (method == FitMethod::exact) return kernels::NmgFitRule::exact;
  if (method == FitMethod::swaps) return kernels::NmgFitRule::swaps;
  return std::nullopt;
}

// State of a thread, which fits and writes units.
template <class E>
struct Worker {
  using Bits = typename E::Bits;
  const NmgGeometry& geo;
  const PatternTable& table;
  NmgChunkFit<E> chunk;
  ChunkBits bits;
  std::vector<std::int32_t> next;
  ChunkMatcher matcher;
  ChunkPositions kept;

  Worker(const NmgGeometry& geometry, const PatternTable& patterns, FitMethod method,
         std::uint8_t* mask)
      : geo(geometry),
        table(patterns),
        chunk(geo, table, method),
        bits(geo, table, mask),
        next(geo.patterns),
        matcher(table, geo.g),
        kept(geo) {}

  // In padding, strips could have patterns other than those of the fit. They get those of pack(),
  // so that equal values always give equal bytes.
  template <class I>
  void write(const Bits* x, const NmgUnit& unit, const std::uint16_t* pattern_of, Bits* values,
             I* index) {
    if (unit.rows < geo.m || unit.cols < geo.strips) {
      kept.clear();
      for (Index s = 0; s < unit.cols; ++s)
        for (const std::uint16_t r : table[pattern_of[s]])
          if (r < unit.rows) kept.keep(s, r);
      matcher.match(kept);  // a matching exists: that of the fit
      write_matched(geo, unit, table, kept, matcher, x, values, index);
      return;
    }
    const kernels::NmgElements<Bits> in{x + unit.offset, geo.view.row_stride, geo.view.col_stride};
    kernels::nmg_write(table.format(geo.g), in, pattern_of, next.data(), values, index);
  }
};

// Destinations; nullptr for results that are not needed. At most one index is set.
template <class U>
struct Outputs {
  std::uint8_t* bits = nullptr;
  U* values = nullptr;
  std::uint8_t* index8 = nullptr;
  std::uint16_t* index16 = nullptr;
};

template <class E>
void fit_units(const NmgGeometry& geo, FitMethod method, const typename E::Bits* x,
               const Outputs<typename E::Bits>& out) {
  const auto table = PatternTable::get(geo.n, geo.m);
  Pool<Worker<E>> workers;
  const Index grain = std::max<Index>(1, mask_grain / (geo.strips * geo.m));
  parallel_for(geo.units(), grain, [&](Index begin, Index end) {
    const auto make = [&] { return std::make_unique<Worker<E>>(geo, *table, method, out.bits); };
    workers.with(make, [&](Worker<E>& worker) {
      for (Index u = begin; u < end; ++u) {
        const NmgUnit unit(geo, u);
        const std::uint16_t* pattern_of = worker.chunk.fit(x, unit).data();
        if (out.bits) worker.bits.set(unit, pattern_of);
        const Index slot = u * geo.strips;
        if (out.index8)
          worker.write(x, unit, pattern_of, out.values + slot * geo.n, out.index8 + slot);
        if (out.index16)
          worker.write(x, unit, pattern_of, out.values + slot * geo.n, out.index16 + slot);
      }
    });
  });
}

// Fits on x's device: writes a mask, which must be 0, and the parts that are not nullptr.
void fit_on_device(const NmgFit& fit, const NmgGeometry& geo, const Dense& x,
                   kernels::NmgParts to) {
  const DeviceNmgPatterns patterns(geo.n, geo.m, x.device());
  launch(&kernels::NmgFunctions::prune, patterns.format(geo.g), *block_matrix(geo.view),
         elements_of(x.values), float_kind(x.dtype()), *rule_of(fit.method), to);
}

}  // namespace

std::string_view NmgFit::fit_name() const {
  static constexpr std::string_view names[] = {"exact", "swaps", "heuristic", "greedy"};
  return names[static_cast<int>(method)];
}

bool NmgFit::selects_on_device(const Dense& x) const {
  const auto rule = rule_of(method);
  const NmgGeometry geo = NmgGeometry::of(x.extents, n, m, g, axis, dims);
  return rule && block_matrix(geo.view) && on_cuda([&](const auto& cuda, kernels::Stream) {
           return cuda.nmg.has_room(PatternTable::get(n, m)->format(g), *rule);
         });
}

Mask NmgFit::select(const Dense& x, const Hints&) const {
  sparsify_detail::check_prunable(x.dtype());
  const NmgGeometry geo = NmgGeometry::of(x.extents, n, m, g, axis, dims);
  check_nmg_chunk(geo, x.extents);
  Mask mask = Mask::none(x.extents, x.device());
  std::uint8_t* bits = mask.bits.mutate();
  if (x.device() != Device::cpu) {
    kernels::NmgParts to;
    to.bits = bits;
    fit_on_device(*this, geo, x, to);
    return mask;
  }
  with_float(x.dtype(), [&]<class E>(E) {
    using U = typename E::Bits;
    fit_units<E>(geo, method, x.values.as<U>().data(), {.bits = bits});
  });
  return mask;
}

Nmg NmgFit::fit(const Dense& x, Mask* kept) const {
  sparsify_detail::check_prunable(x.dtype());
  check_nmg_chunk(NmgGeometry::of(x.extents, n, m, g, axis, dims), x.extents);
  Nmg out = Nmg::unwritten(x.dtype(), x.extents, n, m, g, axis, dims, x.device());
  if (kept) *kept = Mask::none(x.extents, x.device());
  std::uint8_t* bits = kept ? kept->bits.mutate() : nullptr;
  if (x.device() != Device::cpu) {
    kernels::NmgParts to;
    to.values = out.values.mutate_bytes();
    to.index = out.index.mutate_bytes();
    to.bits = bits;
    fit_on_device(*this, out.geometry(), x, to);
    return out;
  }
  with_float(x.dtype(), [&]<class E>(E) {
    using U = typename E::Bits;
    Outputs<U> to{.bits = bits, .values = out.values.mutate<U>().data()};
    if (out.index.width() == 1)
      to.index8 = out.index.mutate<std::uint8_t>().data();
    else
      to.index16 = out.index.mutate<std::uint16_t>().data();
    fit_units<E>(out.geometry(), method, x.values.as<U>().data(), to);
  });
  return out;
}

NmgFit NmgFit::make(const Spec& spec) {
  spec.check_keys({"n", "m", "g", "axis", "dims", "fit"});
  Nmg::check(spec);
  NmgFit f{spec.integer("n"), spec.integer("m"), spec.integer("g"), spec.integer("axis", 0),
           dims_of(spec)};
  const Index patterns = PatternTable::get(f.n, f.m)->count();
  const bool small = patterns <= kernels::most_exact_patterns;
  const std::string_view method = spec.word("fit", small ? "exact" : "heuristic");
  if (method == "exact" && !small)
    fail_usage("{}: fit=exact supports up to {} patterns, got {}", spec.str(),
               kernels::most_exact_patterns, patterns);
  for (const FitMethod m :
       {FitMethod::exact, FitMethod::swaps, FitMethod::heuristic, FitMethod::greedy}) {
    f.method = m;
    if (method == f.fit_name()) return f;
  }
  fail_usage("{}: unknown fit={}{}", spec.str(), method,
             suggestion(method, {"exact", "swaps", "heuristic", "greedy"}));
}

}  // namespace sten
