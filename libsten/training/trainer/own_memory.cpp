// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/trainer/own_memory.h"

namespace sten {

Tensor in_own_memory(const Tensor& t, Device device) {
  if (t.device() != device) return t.to(device);
  return Tensor::update(
      t, [](Values& v) { with_width(v.width(), [&]<class U>(U) { (void)v.mutate<U>(); }); });
}

}  // namespace sten
