#include "libsten/sparsify/nmg_fit.h"

#include <limits>

#include "kernels/reference/nmg_fit.h"
#include "libsten/layout/compressed.h"
#include "libsten/layout/nmg.h"
#include "libsten/layout/nmg_patterns.h"

namespace sten {
namespace {

// Up to this many (strip, pattern) pairs are sorted (64 MB of float pairs); beyond, the lazy form
// gives the same result from a heap.
constexpr Index most_pairs = Index{1} << 22;

template <class E>
void fit_unit(const NmgGeometry& geo, const PatternTable& table,
              std::span<const typename E::Bits> x, Index unit, std::uint8_t* bits) {
  using T = typename E::Score;
  const Index batch = geo.view.batch_offset(unit / (geo.row_blocks * geo.chunks));
  const Index row0 = unit / geo.chunks % geo.row_blocks * geo.m,
              col0 = unit % geo.chunks * geo.strips;
  const Index rows = std::min(geo.m, geo.view.rows - row0);
  const Index cols = std::min(geo.strips, geo.view.cols - col0);
  const auto at = [&](Index p, Index s) {
    return batch + (row0 + p) * geo.view.row_stride + (col0 + s) * geo.view.col_stride;
  };
  std::vector<T> magnitude(geo.m * geo.strips);
  for (Index p = 0; p < rows; ++p)
    for (Index s = 0; s < cols; ++s) {
      // NaN ranks as infinity: it stays rather than vanish unseen, and sorting stays an order.
      const T v = std::abs(E::decode(x[at(p, s)]));
      magnitude[p * geo.strips + s] = std::isnan(v) ? std::numeric_limits<T>::infinity() : v;
    }
  const kernels::NmgChunk<T> chunk{magnitude.data(), table.data(), geo.n, geo.m,
                                   geo.patterns,     geo.g};
  const bool sorted = geo.patterns <= most_pairs / geo.strips;
  std::vector<kernels::NmgPair<T>> pairs(sorted ? geo.patterns * geo.strips : geo.strips);
  std::vector<std::int32_t> fill(geo.patterns), pattern_of(geo.strips);
  (sorted ? kernels::nmg_fit_greedy<T>
          : kernels::nmg_fit_greedy_lazy<T>)(chunk, pairs.data(), fill.data(), pattern_of.data());
  for (Index s = 0; s < cols; ++s)
    for (const std::uint16_t p : table[pattern_of[s]]) {
      if (p >= rows) continue;
      const Index i = at(p, s);
      // Units share bytes of the mask at their edges.
      set_bit_shared(bits, i);
    }
}

}  // namespace

Mask NmgFit::select(const Dense& x, const Hints&) const {
  sparsify_detail::check_prunable(x.dtype());
  const NmgGeometry geo = NmgGeometry::of(x.extents, n, m, g, axis, dims);
  const auto table = PatternTable::get(n, m);
  Mask mask = Mask::none(x.extents);
  std::uint8_t* bits = mask.bits.mutate();
  with_float(x.dtype(), [&]<class E>(E) {
    const auto v = x.values.as<typename E::Bits>();
    const Index grain = std::max<Index>(1, mask_grain / (geo.strips * geo.m));
    parallel_for(geo.units(), grain, [&](Index begin, Index end) {
      for (Index u = begin; u < end; ++u) fit_unit<E>(geo, *table, v, u, bits);
    });
  });
  return mask;
}

NmgFit NmgFit::make(const Spec& spec) {
  spec.check_keys({"n", "m", "g", "axis", "dims", "fit"});
  const std::string_view fit = spec.word("fit", "greedy");
  if (fit != "greedy")
    fail_usage("{}: fit={} is unknown{}", spec.str(), fit, suggestion(fit, {"greedy"}));
  Nmg::check(spec);
  return {spec.integer("n"), spec.integer("m"), spec.integer("g"), spec.integer("axis", 0),
          dims_of(spec)};
}

}  // namespace sten
