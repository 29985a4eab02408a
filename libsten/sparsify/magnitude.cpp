#include "libsten/sparsify/magnitude.h"

#include "libsten/sparsify/select_key.h"
#include "libsten/sparsify/streaming.h"

namespace sten {

Mask Magnitude::select(const Dense& x, const Hints&) const {
  sparsify_detail::check_prunable(x.dtype());
  const Index drop = std::llround(sparsity * static_cast<double>(x.size()));
  if (drop == 0) return Mask::all(x.extents);
  Mask mask = Mask::none(x.extents);
  if (drop == x.size()) return mask;
  with_width(x.values.width(), [&]<class U>(U) {
    const auto v = x.values.as<U>();
    const auto last = select_key<U>([&](const auto& f) { f(v); }, drop - 1);
    keep_above(v, last.key, last.below + last.equals - drop, last.equals, mask.bits.mutate());
  });
  return mask;
}

Magnitude Magnitude::make(const Spec& spec) {
  spec.check_keys({"sparsity"});
  return {fraction_of(spec, "sparsity")};
}

}  // namespace sten
