#include "libsten/dispatch/builtin.h"

#include "libsten/dispatch/registry.h"
#include "libsten/layout/bcsr.h"
#include "libsten/layout/convert.h"
#include "libsten/layout/masked.h"
#include "libsten/sparsify/block_magnitude.h"
#include "libsten/sparsify/magnitude.h"
#include "libsten/sparsify/nmg_fit.h"
#include "libsten/sparsify/per_block.h"
#include "libsten/sparsify/resparsify.h"
#include "libsten/sparsify/same_pattern.h"
#include "libsten/sparsify/scored.h"
#include "libsten/sparsify/streaming.h"

namespace sten {
namespace {

template <class S>
void add_made(Registry& r, std::string_view example) {
  r.add_sparsifier<S>(Spec::parse(example));
}

template <class S>
void add_plain(Registry& r) {
  r.add_sparsifier(S::name, Spec(S::name), [](const Spec& s) {
    s.check_keys({});
    return S{};
  });
}

std::optional<Tensor> fit_nmg(const Dense& x, const Spec& sparsifier, const Spec& layout,
                              Mask* kept) {
  const NmgFit fit = NmgFit::make(sparsifier);
  const Dims dims = dims_of(layout);
  if (layout.integer("n") != fit.n || layout.integer("m") != fit.m ||
      layout.integer("g") != fit.g || layout.integer("axis", 0) != fit.axis ||
      dims.row != fit.dims.row || dims.col != fit.dims.col)
    return std::nullopt;
  if (x.device() != Device::cpu && !fit.selects_on_device(x)) return std::nullopt;
  return fit.fit(x, kept);
}

std::optional<Tensor> fit_nm(const Dense& x, const Spec& sparsifier, const Spec& layout,
                             Mask* kept) {
  const PerBlock fit = PerBlock::make(sparsifier);
  const Dims dims = dims_of(layout);
  if (layout.integer("n") != fit.n || layout.integer("m") != fit.m ||
      layout.integer("axis", 1) != fit.axis || dims.row != fit.dims.row || dims.col != fit.dims.col)
    return std::nullopt;
  if (x.device() != Device::cpu && !fit.selects_on_device(x)) return std::nullopt;
  if (auto packed = fit.fit(x, kept)) return *std::move(packed);
  return std::nullopt;
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

  add_plain<KeepAll>(r);
  add_made<RandomFraction>(r, "random:fraction=0.5,seed=7");
  add_made<Threshold>(r, "threshold:at=0.5");
  add_made<PerBlock>(r, "per-block:n=2,m=4");
  add_made<Magnitude>(r, "magnitude:sparsity=0.9");
  add_made<NmgFit>(r, "nmg:n=2,m=4,g=2");
  add_made<BlockMagnitude>(r, "block-magnitude:sparsity=0.5,h=2,w=3");
  add_made<Gradient>(r, "gradient:sparsity=0.9");
  add_made<Movement>(r, "movement:sparsity=0.9");
  add_made<SoftMovement>(r, "soft-movement:at=0.1");
  add_made<VariationalDropout>(r, "variational-dropout:at=3");
  add_plain<L0>(r);
  add_plain<Relu>(r);
  add_plain<SamePattern>(r);
  add_plain<Resparsify>(r);
  r.add_fused(PerBlock::name, Nm::name, fit_nm);
  r.add_fused(NmgFit::name, Nmg::name, fit_nmg);
}

}  // namespace sten
