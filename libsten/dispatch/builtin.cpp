#include "libsten/dispatch/builtin.h"

#include "libsten/dispatch/registry.h"
#include "libsten/layout/bcsr.h"
#include "libsten/layout/bitmask.h"
#include "libsten/layout/csr.h"
#include "libsten/layout/masked.h"
#include "libsten/layout/nm.h"
#include "libsten/layout/nmg.h"
#include "libsten/sparsify/magnitude.h"
#include "libsten/sparsify/nmg_fit.h"
#include "libsten/sparsify/per_block.h"
#include "libsten/sparsify/same_pattern.h"
#include "libsten/sparsify/streaming.h"

namespace sten {
namespace {

template <class S>
void add_made(Registry& r, std::string_view example) {
  r.add_sparsifier(S::name, Spec::parse(example), [](const Spec& s) { return S::make(s); });
}

template <class S>
void add_plain(Registry& r) {
  r.add_sparsifier(S::name, Spec(S::name), [](const Spec& s) {
    s.check_keys({});
    return S{};
  });
}

}  // namespace

void add_builtin(Registry& r) {
  r.add_layout<Dense>();
  r.add_layout<Masked>();
  r.add_layout<Bitmask>();
  r.add_layout<Csr>();
  r.add_layout<Bcsr>(Spec::parse("bcsr:h=4,w=4"));
  r.add_layout<Nm>(Spec::parse("nm:n=2,m=4"));
  r.add_layout<Nmg>(Spec::parse("nmg:n=2,m=4,g=2"));

  add_plain<KeepAll>(r);
  add_made<RandomFraction>(r, "random:fraction=0.5,seed=7");
  add_made<Threshold>(r, "threshold:at=0.5");
  add_made<PerBlock>(r, "per-block:n=2,m=4");
  add_made<Magnitude>(r, "magnitude:sparsity=0.9");
  add_made<NmgFit>(r, "nmg:n=2,m=4,g=2");
  add_plain<SamePattern>(r);
}

}  // namespace sten
