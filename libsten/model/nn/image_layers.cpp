// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/nn/image_layers.h"

#include "libsten/compute/ops/images/images.h"
#include "libsten/model/graph/running_average.h"

namespace sten {
namespace {

Attributes window_attributes(const Windows2d& w) {
  using List = Attributes::List;
  return Attributes()
      .set("strides", List{w.stride, w.stride})
      .set("dilations", List{w.dilation, w.dilation})
      .set("pads", List{w.padding, w.padding, w.padding, w.padding});
}
Attributes conv_attributes(Index in, Index out, const Windows2d& w, Index groups) {
  if (groups < 1 || in % groups != 0 || out % groups != 0)
    fail_usage("conv: expected groups that divide {} and {} channels, got {}", in, out, groups);
  return window_attributes(w).set("groups", groups);
}
Attributes pool_attributes(const Windows2d& w) {
  return window_attributes(w).set("kernel", Attributes::List{w.kernel, w.kernel});
}

Tensor averaged(const Tensor& average, std::span<const float> to, double momentum) {
  Dense x = average.to_dense();
  move_average(x.values.mutate<float>(), to, momentum);
  return x;
}

}  // namespace

Conv2d::Conv2d(Index in, Index out, const Windows2d& windows, Index groups, bool bias)
    : attributes_(conv_attributes(in, out, windows, groups)),
      weight_(weight("weight", {out, in / groups, windows.kernel, windows.kernel},
                     uniform_for(in / groups * windows.kernel * windows.kernel))),
      bias_(bias
                ? &weight("bias", {out}, uniform_for(in / groups * windows.kernel * windows.kernel))
                : nullptr) {}

Var Conv2d::forward(const Var& x) const {
  return bias_ ? conv(x, weight_, *bias_, attributes_) : conv(x, weight_, attributes_);
}

BatchNorm2d::BatchNorm2d(Index channels, double eps, double momentum)
    : eps_(eps),
      momentum_(momentum),
      weight_(weight("weight", {channels}, Spec("ones"))),
      bias_(weight("bias", {channels})),
      mean_(buffer("running_mean", {channels})),
      variance_(buffer("running_var", {channels}, Spec("ones"))) {}

Var BatchNorm2d::forward(const Var& x) const {
  if (!is_training()) return batch_norm(x, weight_, bias_, mean_, variance_, eps_);
  const Var moments =
      named("moments", apply(Name("batch-moments"), std::span(&x, 1),
                             Attributes().set("sample", Index{1}), Formats::dense()));
  if (Tracer* tracer = Tracer::current()) {
    tracer->statistics(moments, mean_, variance_, momentum_);
  } else {
    const Dense both = moments.value().to_dense();
    const auto m = both.values.as<float>();
    mean_.set(averaged(mean_.var().value(), m.first(m.size() / 2), momentum_));
    variance_.set(averaged(variance_.var().value(), m.last(m.size() / 2), momentum_));
  }
  return batch_norm_train(x, weight_, bias_, eps_);
}

MaxPool2d::MaxPool2d(const Windows2d& windows) : attributes_(pool_attributes(windows)) {}
Var MaxPool2d::forward(const Var& x) const { return max_pool(x, attributes_); }

AvgPool2d::AvgPool2d(const Windows2d& windows) : attributes_(pool_attributes(windows)) {}
Var AvgPool2d::forward(const Var& x) const { return average_pool(x, attributes_); }

Var AdaptiveAvgPool2d::forward(const Var& x) const {
  return adaptive_average_pool(x, {size_, size_});
}

}  // namespace sten
