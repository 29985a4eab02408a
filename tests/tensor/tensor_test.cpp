// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/tensor/tensor.h"

#include <doctest/doctest.h>

#include "libsten/core/tensor/dense.h"

using namespace sten;

TEST_CASE(
    "overwrite() writes in place and drops derived values only if the values are not shared") {
  Tensor x = Dense{{2}, Values(DType::F32, 2)};
  const auto fill = [](Values& v) { v.mutate<float>()[0] = 5; };
  const float* before = x.values()->as<float>().data();
  CHECK(x.overwrite(fill));
  CHECK(x.values()->as<float>().data() == before);
  CHECK(x.values()->as<float>()[0] == 5);
  {
    const Tensor same = x;
    CHECK(!x.overwrite(fill));
  }
  {
    const Dense values = x.as<Dense>();
    CHECK(!x.overwrite(fill));
  }
  // overwrite() drops derived values.
  CHECK(*x.derived().get<int>([] { return 1; }) == 1);
  CHECK(x.overwrite(fill));
  CHECK(*x.derived().get<int>([] { return 2; }) == 2);
}
