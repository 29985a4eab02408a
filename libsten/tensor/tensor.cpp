#include "libsten/tensor/tensor.h"

namespace sten {

std::size_t Tensor::bytes() const {
  std::size_t n = 0;
  for (const Part& p : save().parts) n += p.bytes.size();
  return n;
}

Tensor Tensor::with_values(Values v) const {
  if (!values()) fail_usage("{} has no field `values` to be replaced", layout());
  Tensor t(self_->with_values(std::move(v)));
  t.derived().get<std::shared_ptr<Derived>>([&] { return shared_positions(); });
  return t;
}

Values Tensor::take_values() {
  if (!values()) fail_usage("{} has no field `values` to be updated", layout());
  return self_.use_count() == 1 ? self_->take_values() : *values();
}

}  // namespace sten
