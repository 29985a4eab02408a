// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/registry/builtin.h"

#include "libsten/core/layout/bcsr.h"
#include "libsten/core/layout/convert.h"
#include "libsten/core/layout/masked.h"
#include "libsten/core/registry/registry.h"
#include "libsten/core/sparsify/block_magnitude.h"
#include "libsten/core/sparsify/magnitude.h"
#include "libsten/core/sparsify/nm_magnitude.h"
#include "libsten/core/sparsify/nmgv_fit.h"
#include "libsten/core/sparsify/resparsify.h"
#include "libsten/core/sparsify/same_pattern.h"
#include "libsten/core/sparsify/scored.h"
#include "libsten/core/sparsify/streaming.h"

namespace sten {
namespace {

// Whether a layout has the parameters of its own sparsifier.
bool fits(const NmgFit& fit, const Spec& layout) {
  const Dims dims = dims_of(layout);
  return layout.integer("n") == fit.n && layout.integer("m") == fit.m &&
         layout.integer("g") == fit.g && layout.integer("axis", 0) == fit.axis &&
         dims.row == fit.dims.row && dims.col == fit.dims.col;
}
bool fits(const NmgvFit& fit, const Spec& layout) {
  const Dims dims = dims_of(layout);
  return fits(fit.tiles, Nmgv::tile_spec(layout)) && layout.integer("v") == fit.v &&
         layout.integer("w", Nmgv::usual_w) == fit.w && dims.row == fit.dims.row &&
         dims.col == fit.dims.col;
}
bool fits(const NmMagnitude& fit, const Spec& layout) {
  const Dims dims = dims_of(layout);
  return layout.integer("n") == fit.n && layout.integer("m") == fit.m &&
         layout.integer("axis", 1) == fit.axis && dims.row == fit.dims.row &&
         dims.col == fit.dims.col;
}

Nm fit_nm(const NmMagnitude& fit, const Dense& x, const SparsifyCall& call) {
  auto packed = fit.fit(x, call.kept);
  if (!packed)
    fail_unsupported("{}: blocks of {} elements are not ranked in one pass", NmMagnitude::name,
                     fit.m);
  return *std::move(packed);
}

// Adds select_stored() on the entries of layout L, for every sparsifier that supports it.
template <class L, class F>
void add_stored(Registry& r, F make) {
  r.add_implementation(
      {SparsifierImplementation::any_stored, L::name, L::name,
       [](const Sparsifier&, const Spec& in, const Spec& out) { return in == out; },
       [make](const Sparsifier& s, const Tensor& x, const SparsifyCall& call) -> Tensor {
         const Entries e = *entries_of(x);
         return make(x.as<L>(), kept_entries(e, s.select_stored(e, call.hints)));
       }});
}

}  // namespace

void add_builtin(Registry& r) {
  r.add_layout<Dense>();
  r.add_layout<Masked>();
  r.add_layout<Bitmask>();
  r.add_layout<Csr>();
  r.add_layout<Csc>();
  r.add_layout<Coo>();
  r.add_layout<Ell>();
  r.add_layout<Bcsr>(Spec::parse("bcsr:h=4,w=4"));
  r.add_layout<Nm>(Spec::parse("nm:n=2,m=4"));
  r.add_layout<Nmg>(Spec::parse("nmg:n=2,m=4,g=2"));
  r.add_layout<Nmgv>(Spec::parse("nmgv:n=1,m=2,g=2,v=4"));

  r.add_edge<Csr, Csc>([](const Csr& x, const Spec&) { return to_csc(x); });
  r.add_edge<Csc, Csr>([](const Csc& x, const Spec&) { return to_csr(x); });
  r.add_edge<Csr, Coo>([](const Csr& x, const Spec&) { return to_coo(x); });
  r.add_edge<Coo, Csr>([](const Coo& x, const Spec&) { return to_csr(x); });
  r.add_edge<Csc, Coo>([](const Csc& x, const Spec&) { return to_coo(x); });
  r.add_edge<Coo, Csc>([](const Coo& x, const Spec&) { return to_csc(x); });
  r.add_edge<Csr, Ell>([](const Csr& x, const Spec&) { return to_ell(x); });
  r.add_edge<Ell, Csr>([](const Ell& x, const Spec&) { return to_csr(x); });
  r.add_edge<Csr, Bcsr>(to_bcsr);
  r.add_edge<Bcsr, Csr>([](const Bcsr& x, const Spec&) { return to_csr(x); });
  r.add_edge<Bitmask, Csr>([](const Bitmask& x, const Spec&) { return to_csr(x); });
  r.add_edge<Csr, Bitmask>([](const Csr& x, const Spec&) { return to_bitmask(x); });
  r.add_edge<Nm, Csr>([](const Nm& x, const Spec&) { return to_csr(x); });
  r.add_edge<Nmg, Csr>([](const Nmg& x, const Spec&) { return to_csr(x); });
  r.add_edge<Nmgv, Csr>([](const Nmgv& x, const Spec&) { return to_csr(x); });

  r.add_sparsifier<KeepAll>();
  r.add_sparsifier<RandomFraction>(Spec::parse("random:fraction=0.5,seed=7"));
  r.add_sparsifier<Threshold>(Spec::parse("threshold:at=0.5"));
  r.add_sparsifier<NonZero>();
  r.add_sparsifier<NmMagnitude>(Spec::parse("nm:n=2,m=4"));
  r.add_sparsifier<Magnitude>(Spec::parse("magnitude:sparsity=0.9"));
  r.add_sparsifier<NmgFit>(Spec::parse("nmg:n=2,m=4,g=2"));
  r.add_sparsifier<NmgvFit>(Spec::parse("nmgv:n=1,m=2,g=2,v=4"));
  r.add_sparsifier<BlockMagnitude>(Spec::parse("block-magnitude:sparsity=0.5,h=2,w=3"));
  r.add_sparsifier<Gradient>(Spec::parse("gradient:sparsity=0.9"));
  r.add_sparsifier<Movement>(Spec::parse("movement:sparsity=0.9"));
  r.add_sparsifier<SoftMovement>(Spec::parse("soft-movement:at=0.1"));
  r.add_sparsifier<VariationalDropout>(Spec::parse("variational-dropout:at=3"));
  r.add_sparsifier<L0>();
  r.add_sparsifier<Relu>();
  r.add_sparsifier<SamePattern>();
  r.add_sparsifier<Resparsify>();

  const auto of_dense = [](const auto& fit, const Spec&, const Spec& out) {
    return fits(fit, out);
  };
  r.add_implementation<NmMagnitude, Dense, Nm>(fit_nm, of_dense);
  r.add_implementation<NmgFit, Dense, Nmg>(
      [](const NmgFit& fit, const Dense& x, const SparsifyCall& c) { return fit.fit(x, c.kept); },
      of_dense);
  r.add_implementation<NmgFit, Nmg, Nmg>(
      [](const NmgFit& fit, const Nmg& x, const SparsifyCall&) { return fit.fit_again(x); },
      [](const NmgFit& fit, const Spec& in, const Spec& out) {
        return fits(fit, in) && fits(fit, out);
      });
  r.add_implementation<NmgvFit, Dense, Nmgv>(
      [](const NmgvFit& fit, const Dense& x, const SparsifyCall& c) { return fit.fit(x, c.kept); },
      of_dense);
  add_stored<Csr>(r, [](const Csr& x, const Entries& e) { return to_csr(e, x.dims); });
  add_stored<Coo>(r, [](const Coo& x, const Entries& e) { return to_coo(e, x.dims); });
  add_stored<Bitmask>(r, [](const Bitmask&, const Entries& e) { return to_bitmask(e); });
}

Registry& registry() {
  static Registry& r = *[] {
    static Registry all;
    add_builtin(all);
    return &all;
  }();
  return r;
}

}  // namespace sten
