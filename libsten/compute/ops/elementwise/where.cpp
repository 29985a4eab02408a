// SPDX-License-Identifier: Apache-2.0
// Choice between two tensors of any dtype; all three operands are broadcast.
#include "libsten/compute/ops/elementwise/where.h"

#include <algorithm>

#include "libsten/compute/ops/common/broadcast.h"
#include "libsten/compute/ops/common/check.h"
#include "libsten/compute/ops/common/elements.h"
#include "libsten/compute/ops/common/output.h"
#include "libsten/compute/ops/common/register.h"

namespace sten {
namespace {

// Of a condition and two operands, the inputs from `first` on.
Shape chosen_shape(const Call& call, std::size_t first) {
  const Tensor& condition = call.in[first];
  if (condition.dtype() != DType::BOOL)
    fail_usage("where: the condition must be BOOL, got {}", name_of(condition.dtype()));
  const Shape x = call.in[first + 1].shape(), y = call.in[first + 2].shape();
  return broadcast_shape("where", condition.shape(), broadcast_shape("where", x, y, "x", "y"),
                         "the condition", "the choice");
}

Outputs where(const Call& call) {
  const Shape shape = check_where(call);
  const Dense &condition = call.in[0].as<Dense>(), &x = call.in[1].as<Dense>(),
              &y = call.in[2].as<Dense>();
  const std::uint8_t* c = condition.values.as<std::uint8_t>().data();
  const Broadcast xs(shape, x.extents, x.extents), ys(shape, condition.extents, y.extents);
  return with_width(width_of(x.dtype()), [&]<class U>(U) -> Outputs {
    const U *px = x.values.as<U>().data(), *py = y.values.as<U>().data();
    // Writes x, then y over it.
    return {dense_elements<U>(x.dtype(), shape, [&](Index begin, Index end, U* to) {
      xs.each_run(begin, end, [&](Index i, Index n, Index ix, Index step, Index, Index) {
        if (step == 1)
          std::copy_n(px + ix, n, to + (i - begin));
        else
          std::fill_n(to + (i - begin), n, px[ix]);
      });
      ys.each_pair(begin, end, c, py, [=](Index i, std::uint8_t is_x, U other) {
        to[i - begin] = is_x ? to[i - begin] : other;
      });
    })};
  });
}

// The chosen operand gets dy, the other 0.
Outputs where_grad(const Call& call) {
  check_where_grad(call);
  const Dense &dy = call.in[0].as<Dense>(), &condition = call.in[1].as<Dense>();
  const std::uint8_t* c = condition.values.as<std::uint8_t>().data();
  const Dense* operands[] = {&call.in[2].as<Dense>(), &call.in[3].as<Dense>()};
  const Broadcast repeated(dy.extents, condition.extents, condition.extents);
  return with_real("where.grad", dy.dtype(), [&]<class T>(T) -> Outputs {
    const T* in = dy.values.as<T>().data();
    Outputs out(3);
    for (std::size_t i = 1; i < 3; ++i) {
      if (!call.wants(i)) continue;
      const bool is_x = i == 1;
      const Dense all =
          dense_elements<T>(dy.dtype(), dy.extents, [&](Index begin, Index end, T* to) {
            repeated.each_pair(begin, end, c, c, [=](Index k, std::uint8_t chosen, std::uint8_t) {
              to[k - begin] = (chosen != 0) == is_x ? in[k] : T{0};
            });
          });
      const Shape& shape = operands[i - 1]->extents;
      out[i] = shape == dy.extents ? Tensor(all) : sum_to<T>(OutFormat::dense(), all, shape);
    }
    return out;
  });
}

}  // namespace

Shape check_where(const Call& call) {
  call.attributes.check("where", {});
  check_dtypes("where", "x", call.in[1].dtype(), "y", call.in[2].dtype());
  return chosen_shape(call, 0);
}

void check_where_grad(const Call& call) {
  check_gradient("where.grad", call.in[0].as<Dense>(), chosen_shape(call, 1));
}

void add_where(Operators& all) {
  all.add({"where", {"dense", "dense", "dense"}, {{}}}, where);
  all.add({"where.grad", {"dense", "dense", "dense", "dense"}, {{}, {}, {}}}, where_grad);
}

}  // namespace sten
