// Elements of any dtype, each taken from where an index along one axis says.
#include <algorithm>

#include "libsten/ops/check.h"
#include "libsten/ops/numbers.h"
#include "libsten/ops/output.h"
#include "libsten/ops/places.h"
#include "libsten/ops/register.h"

namespace sten {
namespace {

// Of the output [k...], which has the shape of ids: the element of x at [k..., ids[k...], ...].
std::vector<Index> sources_of(const char* op, const Call& call, const Dense& x, const Dense& ids) {
  call.attributes.check(op, {"axis"});
  const Index axis = axis_of(op, call.attributes.integer("axis", 0), x.extents);
  bool fits = ids.extents.size() == x.extents.size();
  for (Index d = 0; fits && d < std::ssize(x.extents); ++d)
    fits = d == axis || ids.extents[d] <= x.extents[d];
  if (!fits)
    fail_usage("{}: x is {} and ids are {}, which does not fit beside axis {}", op,
               to_string(x.extents), to_string(ids.extents), axis);
  const Places all = Places::of(x.extents);
  std::vector<Index> at = integers_of(op, "ids", ids);
  const Index extent = x.extents[axis];
  parallel_for(std::ssize(at), Index{1} << 12, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      const Index id = at[i] < 0 ? at[i] + extent : at[i];
      if (id < 0 || id >= extent)
        fail_usage("{}: ids{} is {}, but x is {}", op, place_text(i, ids.extents), at[i],
                   to_string(x.extents));
      Index rest = i;
      at[i] = id * all.steps[axis];
      for (Index d = std::ssize(x.extents); d-- > 0; rest /= ids.extents[d])
        if (d != axis) at[i] += rest % ids.extents[d] * all.steps[d];
    }
  });
  return at;
}

Outputs taken(const Call& call) {
  const Dense &x = call.in[0].as<Dense>(), &ids = call.in[1].as<Dense>();
  const std::vector<Index> from = sources_of("gather-elements", call, x, ids);
  Dense y{ids.extents, Values::uninitialized(x.dtype(), ids.size())};
  with_width(x.values.width(), [&]<class U>(U) {
    const U* source = x.values.as<U>().data();
    U* to = y.values.mutate<U>().data();
    for (std::size_t i = 0; i < from.size(); ++i) to[i] = source[from[i]];
  });
  return {std::move(y)};
}

// An element's gradient is the sum over the ids that name it, in their order.
Outputs taken_grad(const Call& call) {
  Outputs out(2);
  if (!call.wants(0)) return out;
  const Dense &dy = call.in[0].as<Dense>(), &x = call.in[1].as<Dense>(),
              &ids = call.in[2].as<Dense>();
  const std::vector<Index> from = sources_of("gather-elements.grad", call, x, ids);
  check_gradient("gather-elements.grad", dy, ids.extents);
  with_real("gather-elements.grad", dy.dtype(), [&]<class T>(T) {
    std::vector<double> sums(x.size());
    const T* g = dy.values.as<T>().data();
    for (std::size_t i = 0; i < from.size(); ++i) sums[from[i]] += g[i];
    Dense dx = unwritten<T>(x.extents);
    std::ranges::transform(sums, dx.values.mutate<T>().begin(),
                           [](double v) { return static_cast<T>(v); });
    out[0] = std::move(dx);
  });
  return out;
}

}  // namespace

void add_gather_elements(Operators& all) {
  all.declare("gather-elements", {Keeps::inputs});
  all.add({"gather-elements", {"dense", "dense"}, {{}}}, taken);
  all.add({"gather-elements.grad", {"dense", "dense", "dense"}, {{}, {}}}, taken_grad);
}

}  // namespace sten
