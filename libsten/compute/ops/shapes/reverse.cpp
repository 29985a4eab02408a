// SPDX-License-Identifier: Apache-2.0
// Reversal of the first elements of sequences, of any dtype.
#include <algorithm>

#include "libsten/compute/ops/common/check.h"
#include "libsten/compute/ops/common/indices.h"
#include "libsten/compute/ops/common/plain.h"
#include "libsten/compute/ops/common/register.h"
#include "libsten/compute/ops/common/strided_copy.h"
#include "libsten/compute/ops/shapes/gathered_slices.h"

namespace sten {
namespace {

// Also its own gradient. Input 1 has the length for each index of the batch axis.
Tensor reverse(const char* op, const Call& call) {
  call.attributes.check(op, {"batch-axis", "time-axis"});
  if (call.in.size() != 2)
    fail_usage("{}: expected 2 inputs (x, lengths), got {}", op, call.in.size());
  const Dense& x = call.in[0].as<Dense>();
  const Index time = axis_of(op, call.attributes.integer("time-axis", 0), x.extents),
              batch = axis_of(op, call.attributes.integer("batch-axis", 1), x.extents);
  if (time == batch) fail_usage("{}: the time axis and the batch axis are both {}", op, time);
  const std::vector<Index> lengths = list_of(op, call, 1, "lengths");
  if (std::ssize(lengths) != x.extents[batch])
    fail_usage("{}: {} lengths do not fit x {}", op, lengths.size(), to_string(x.extents));
  for (const Index n : lengths)
    if (n < 0 || n > x.extents[time])
      fail_usage("{}: the length {} does not fit x {}", op, n, to_string(x.extents));
  const Index last = std::max(time, batch);
  const std::vector<Index> steps = StridedView::of(x.extents).steps;
  GatheredSlices p{{}, steps[last], x.extents};
  if (x.size() == 0) return x;
  p.at.resize(x.size() / p.n);
  for (Index i = 0; i < std::ssize(p.at); ++i) {
    const Index at = i * p.n, t = at / steps[time] % x.extents[time],
                n = lengths[at / steps[batch] % x.extents[batch]];
    p.at[i] = t < n ? at + (n - 1 - 2 * t) * steps[time] : at;
  }
  return gather_slices(x, p);
}

}  // namespace

void add_reverses(Operators& all) {
  add_plain(
      all, "reverse-sequence", SavedForBackward::others,
      [](const Call& call) { return reverse("reverse-sequence", call); },
      [](const Call& call) { return reverse("reverse-sequence.grad", call); });
}

}  // namespace sten
