// Choice between two tensors of any dtype; all three operands are broadcast.
#include <algorithm>

#include "libsten/compute/ops/common/broadcast.h"
#include "libsten/compute/ops/common/check.h"
#include "libsten/compute/ops/common/elements.h"
#include "libsten/compute/ops/common/output.h"
#include "libsten/compute/ops/common/register.h"

namespace sten {
namespace {

const std::uint8_t* condition_of(const Dense& condition) {
  if (condition.dtype() != DType::BOOL)
    fail_usage("where: the condition must be BOOL, got {}", name_of(condition.dtype()));
  return condition.values.as<std::uint8_t>().data();
}
Shape shape_of(const Dense& condition, const Shape& x, const Shape& y) {
  return broadcast_shape("where", condition.extents, broadcast_shape("where", x, y, "x", "y"),
                         "the condition", "the choice");
}

Outputs where(const Call& call) {
  call.attributes.check("where", {});
  const Dense &condition = call.in[0].as<Dense>(), &x = call.in[1].as<Dense>(),
              &y = call.in[2].as<Dense>();
  const std::uint8_t* c = condition_of(condition);
  check_dtypes("where", "x", x.dtype(), "y", y.dtype());
  const Shape shape = shape_of(condition, x.extents, y.extents);
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
  const Dense &dy = call.in[0].as<Dense>(), &condition = call.in[1].as<Dense>();
  const std::uint8_t* c = condition_of(condition);
  const Dense* operands[] = {&call.in[2].as<Dense>(), &call.in[3].as<Dense>()};
  check_gradient("where.grad", dy, shape_of(condition, operands[0]->extents, operands[1]->extents));
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

void add_where(Operators& all) {
  all.add({"where", {"dense", "dense", "dense"}, {{}}}, where);
  all.add({"where.grad", {"dense", "dense", "dense", "dense"}, {{}, {}, {}}}, where_grad);
}

}  // namespace sten
