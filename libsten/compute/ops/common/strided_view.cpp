// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/ops/common/strided_view.h"

namespace sten {

StridedView StridedView::of(const Shape& shape) {
  StridedView all{0, std::vector<Index>(shape.size())};
  Index step = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    all.steps[d] = step;
    step *= shape[d];
  }
  return all;
}

}  // namespace sten
