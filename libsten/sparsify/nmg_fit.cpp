#include "libsten/sparsify/nmg_fit.h"

#include <algorithm>

namespace sten {
namespace {

template <class E>
void fit_chunks(const NmgGeometry& geo, const PatternTable& table, FitMethod method,
                std::span<const typename E::Bits> x, std::uint8_t* bits) {
  Pool<NmgChunkFit<E>> fits;
  const Index grain = std::max<Index>(1, mask_grain / (geo.strips * geo.m));
  parallel_for(geo.units(), grain, [&](Index begin, Index end) {
    const auto make = [&] { return std::make_unique<NmgChunkFit<E>>(geo, table, method); };
    fits.with(make, [&](NmgChunkFit<E>& fit) {
      for (Index u = begin; u < end; ++u) {
        const NmgUnit unit(geo, u);
        const std::span<const std::uint16_t> pattern_of = fit.fit(x.data(), unit);
        for (Index s = 0; s < unit.cols; ++s)
          for (const std::uint16_t p : table[pattern_of[s]])
            // Units share bytes of the mask at their edges.
            if (p < unit.rows)
              set_bit_shared(bits, unit.offset + p * geo.view.row_stride + s * geo.view.col_stride);
      }
    });
  });
}

}  // namespace

std::string_view name_of(FitMethod method) {
  static constexpr std::string_view names[] = {"exact", "heuristic", "greedy"};
  return names[static_cast<int>(method)];
}

Mask NmgFit::select(const Dense& x, const Hints&) const {
  sparsify_detail::check_prunable(x.dtype());
  const NmgGeometry geo = NmgGeometry::of(x.extents, n, m, g, axis, dims);
  const auto table = PatternTable::get(n, m);
  Mask mask = Mask::none(x.extents);
  std::uint8_t* bits = mask.bits.mutate();
  with_float(x.dtype(), [&]<class E>(E) {
    fit_chunks<E>(geo, *table, method, x.values.as<typename E::Bits>(), bits);
  });
  return mask;
}

NmgFit NmgFit::make(const Spec& spec) {
  spec.check_keys({"n", "m", "g", "axis", "dims", "fit"});
  Nmg::check(spec);
  NmgFit f{spec.integer("n"), spec.integer("m"), spec.integer("g"), spec.integer("axis", 0),
           dims_of(spec)};
  const bool small = PatternTable::get(f.n, f.m)->count() <= kernels::most_exact_patterns;
  const std::string_view method = spec.word("fit", small ? "exact" : "heuristic");
  if (method == "exact" && !small)
    fail_usage("{}: fit=exact is for up to {} patterns, and there are {}", spec.str(),
               kernels::most_exact_patterns, PatternTable::get(f.n, f.m)->count());
  for (const FitMethod m : {FitMethod::exact, FitMethod::heuristic, FitMethod::greedy}) {
    if (method != name_of(m)) continue;
    f.method = m;
    return f;
  }
  fail_usage("{}: fit={} is unknown{}", spec.str(), method,
             suggestion(method, {"exact", "heuristic", "greedy"}));
}

}  // namespace sten
