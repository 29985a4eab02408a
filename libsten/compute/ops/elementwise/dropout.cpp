// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/ops/elementwise/dropout.h"

#include "libsten/compute/ops/common/check.h"
#include "libsten/compute/ops/common/output.h"
#include "libsten/compute/ops/common/register.h"
#include "libsten/core/base/random.h"

namespace sten {

namespace {

// Value i of the stream decides on element i.
Outputs drop_elements(const Call& call) {
  const DropoutCall given(call, 1);
  const double p = given.p;
  std::uint64_t seed = given.seed;
  if (given.draw)
    seed = random_bits(seed, static_cast<std::uint64_t>(given.draw->values.as<std::int64_t>()[0]));
  const Dense& x = call.in[0].as<Dense>();
  Outputs out(call.formats.size());
  if (!call.wants(0)) return out;
  out[0] = with_real("dropout", x.dtype(), [&]<class T>(T) {
    const T* from = x.values.as<T>().data();
    const T by = static_cast<T>(given.scale());
    return write_elements<T>(call.out(), x.extents, [&](Index begin, Index end, T* to) {
      for (Index i = begin; i < end; ++i)
        to[i - begin] =
            random_uniform(seed, static_cast<std::uint64_t>(i)) >= p ? from[i] * by : T{0};
    });
  });
  return out;
}

}  // namespace

DropoutCall::DropoutCall(const Call& call, std::size_t first) {
  call.attributes.check("dropout", {"p", "seed"});
  p = call.attributes.number("p", 0.5);
  if (!(p >= 0 && p <= 1)) fail_usage("dropout: p must be in [0, 1], got {}", p);
  seed = static_cast<std::uint64_t>(call.attributes.integer("seed", 0));
  if (call.in.size() <= first) return;
  draw = &call.in[first].as<Dense>();
  if (draw->dtype() != DType::I64 || draw->size() != 1)
    fail_usage("dropout: 'draw' must be one I64 value, got {} {}", name_of(draw->dtype()),
               to_string(draw->extents));
}

void add_dropout(Operators& all) {
  all.declare("dropout", {SavedForBackward::others});
  for (const std::size_t inputs : {1, 2}) {
    const std::vector<Name> in(inputs, Name("dense"));
    add_streamed(all, "dropout", in, 1, drop_elements);
    // Drops the same elements of the gradient.
    add_streamed(all, "dropout.grad", in, inputs, drop_elements);
  }
}

}  // namespace sten
