// SPDX-License-Identifier: Apache-2.0
// Sums and means over axes.
#include <algorithm>

#include "libsten/compute/ops/common/broadcast.h"
#include "libsten/compute/ops/common/check.h"
#include "libsten/compute/ops/common/output.h"
#include "libsten/compute/ops/common/register.h"
#include "libsten/compute/ops/common/sum_axes.h"
#include "libsten/compute/ops/reductions/reduction.h"

namespace sten {
namespace {

template <bool is_mean>
Outputs forward(const Call& call) {
  constexpr const char* op = is_mean ? "mean" : "sum";
  const Dense& x = call.in[0].as<Dense>();
  Reduction r(op, call, x.extents);
  if (x.dtype() == DType::I64 || x.dtype() == DType::I32)
    return {reduce_integers(op, is_mean ? Fold::mean : Fold::sum, x, std::move(r))};
  return with_real(op, x.dtype(), [&]<class T>(T) -> Outputs {
    const std::vector<double> sums = sum_axes(x.values.as<T>().data(), x.extents, r.over);
    Dense y = unwritten<T>(std::move(r.result));
    T* to = y.values.mutate<T>().data();
    for (std::size_t i = 0; i < sums.size(); ++i)
      to[i] = static_cast<T>(is_mean ? sums[i] / r.count : sums[i]);
    return {std::move(y)};
  });
}

template <bool is_mean>
Outputs backward(const Call& call) {
  constexpr const char* op = is_mean ? "mean.grad" : "sum.grad";
  Outputs out(call.formats.size());
  if (!call.wants(0)) return out;
  const Dense& dy = call.in[0].as<Dense>();
  const Reduction r = Reduction::of_gradient(op, call);
  const Shape& shape = call.shapes[0];
  return with_real(op, dy.dtype(), [&]<class T>(T) -> Outputs {
    const T* from = dy.values.as<T>().data();
    const T by = static_cast<T>(is_mean ? 1 / r.count : 1);
    const Broadcast repeated(shape, r.keepdim_shape, r.keepdim_shape);
    out[0] = write_elements<T>(call.out(), shape, [&](Index begin, Index end, T* to) {
      repeated.each_run(begin, end, [&](Index i, Index n, Index at, Index step, Index, Index) {
        T* run = to + (i - begin);
        if (step == 0)
          std::fill_n(run, n, from[at] * by);
        else
          for (Index k = 0; k < n; ++k) run[k] = from[at + k] * by;
      });
    });
    return out;
  });
}

template <bool is_mean>
void add_reduction(Operators& all, Name op, Name grad) {
  all.declare(op, {SavedForBackward::others});
  all.add({op, {"dense", any::more}, {{}}}, forward<is_mean>);
  add_streamed(all, grad, {"dense"}, 1, backward<is_mean>);
  all.add({grad, {"dense", any::more}, {{}, {"", any::more}}}, backward<is_mean>);
}

}  // namespace

void add_reductions(Operators& all) {
  add_reduction<false>(all, "sum", "sum.grad");
  add_reduction<true>(all, "mean", "mean.grad");
}

}  // namespace sten
