// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/prune/choose_mask.h"

#include "libsten/core/base/random.h"
#include "libsten/core/registry/registry.h"
#include "libsten/core/sparsify/scored.h"
#include "libsten/programs/measure/measure.h"
#include "libsten/programs/plan/sparse_input.h"

namespace sten {
namespace {

Mask within(Mask keep, const std::optional<Mask>& stored) {
  return stored ? both(std::move(keep), *stored) : keep;
}

}  // namespace

PrunedTensor choose_mask(const Checkpoint& in, const TensorInfo& t, const TensorPlan& how,
                         const TensorOptions& options, const Dense& x, const Dense* scores) {
  const std::optional<Mask> stored_mask = where_stored(in, t, x, how.sparsifier);
  Spec spec = how.sparsifier;
  // 63 bits, since a spec's integers are signed.
  if (how.has_seed) spec.set("seed", static_cast<Index>(seed_for(options.seed, t.name) >> 1));
  if (how.by_gradient)
    return {within(
        registry().sparsifier(spec).select(gradient_ranks(x, *scores, ranks_are_wide(x, *scores))),
        stored_mask)};
  const Hints hints{nullptr, scores, nullptr};
  // Sparsifiers that ignore magnitudes, which would rank NaN and infinity above all numbers.
  const bool blind = options.nan == Nan::keep && (spec.is("random") || spec.is("relu"));
  PrunedTensor p;
  if (!blind && !how.to.is(Dense::name) && !stored_mask) {
    p.tensor = registry().prune(x, spec, how.to, hints, &p.keep);
    return p;
  }
  p.keep = stored_mask && scores && spec.has("sparsity")
               ? select_stored(x, *scores, *stored_mask, spec)
               : registry().sparsifier(spec).select(x, hints);
  const Mask finite = blind ? finite_mask(x) : Mask();
  for (Index k = 0; blind && k < x.size(); ++k)
    if (!finite[k]) p.keep.set(k, true);
  p.keep = within(std::move(p.keep), stored_mask);
  return p;
}

PrunedTensor choose_mask(const Checkpoint& in, const PrunePlan& plan, std::size_t i,
                         const GlobalThreshold& threshold, const TensorOptions& options,
                         const Dense& x, const Dense* scores) {
  const CheckpointTensor& t = in.tensors()[i];
  const TensorPlan& how = *plan.tensors[i];
  if (!how.global) return choose_mask(in, t, how, options, x, scores);
  return {within(threshold.select(i, x, scores), where_stored(in, t, x, how.sparsifier))};
}

}  // namespace sten
