// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/autograd/tape.h"

namespace sten {

DeferredSparsity::DeferredSparsity(const Var& x, Sparsifier by, Spec layout)
    : x_(x), by_(std::move(by)), layout_(std::move(layout)) {
  x_.retain_grad();
}

bool DeferredSparsity::is_ready() const { return x_.grad().has_value(); }

Tensor DeferredSparsity::get() const {
  if (!is_ready())
    fail_usage("{} needs the gradient of its input (call backward() first)", by_.name().text());
  const Dense scores =
      by_.scores_of(x_.value().to_dense().to(Device::cpu), x_.grad()->to_dense().to(Device::cpu));
  return sparsify(x_.value(), by_, layout_,
                  {.pattern = nullptr, .scores = &scores, .own = nullptr});
}

}  // namespace sten
