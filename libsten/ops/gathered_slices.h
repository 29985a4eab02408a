// Runs of elements that indices name in a tensor: what gathers take and scatters put.
#pragma once
#include <string_view>
#include <vector>

#include "libsten/tensor/dense.h"

namespace sten {

struct GatheredSlices {
  std::vector<Index> at;  // where in x each run begins
  Index n = 1;            // elements of a run
  Shape shape;            // of all runs together
};

// Of [k...], which has the shape of ids: the element of x at [k..., ids[k...], ...], the id standing
// for k at the axis. Negative ids count from the end. Error (usage) for ids that x has not.
GatheredSlices gather_elements_slices(std::string_view op, Index axis, const Shape& x,
                                      const Dense& ids);

// The last axis of ids[k..., d] names indices of d axes of x, after `batch` axes that both have; the
// runs are what lies there: [k..., rest of x].
GatheredSlices gather_nd_slices(std::string_view op, Index batch, const Shape& x, const Dense& ids);

// The runs of x, of any dtype.
Dense gather_slices(const Dense& x, const GatheredSlices& p);
// Of that: an element's gradient is the sum over the runs it is in, in their order.
Dense gather_slices_grad(std::string_view op, const Dense& dy, const Shape& x,
                         const GatheredSlices& p);

}  // namespace sten
