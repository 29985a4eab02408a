// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/tensor/tensor.h"

#include "libsten/core/base/fallback.h"

namespace sten {

std::size_t Tensor::bytes() const {
  std::size_t n = 0;
  for (const Part& p : save().parts) n += p.bytes.size();
  return n;
}

Tensor Tensor::to(Device device) const {
  return device == this->device() ? *this : Tensor(self_->to(device));
}

Dense Tensor::to_dense() const {
  if (device() == Device::cpu || self_->unpacks_on_device()) return self_->to_dense();
  return on_cpu(fmt::format("{} to dense", layout()), *this,
                [](const Tensor& t) { return t.to_dense(); });
}

Mask Tensor::stored() const {
  if (device() == Device::cpu || self_->stored_on_device()) return self_->stored();
  return on_cpu(fmt::format("positions of {}", layout()), *this,
                [](const Tensor& t) { return t.stored(); });
}

Tensor Tensor::with_values(Values v) const {
  if (!values()) fail_usage("layout {} has no field `values` to replace", layout());
  Tensor t(self_->with_values(std::move(v)));
  t.derived().get<std::shared_ptr<Derived>>([&] { return shared_positions(); });
  return t;
}

Values Tensor::take_values() {
  if (!values()) fail_usage("layout {} has no field `values` to update", layout());
  return self_.use_count() == 1 ? self_->take_values() : *values();
}

}  // namespace sten
