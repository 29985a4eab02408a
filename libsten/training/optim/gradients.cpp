// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/optim/gradients.h"

#include <array>

#include "kernels/block/step_functions.h"
#include "kernels/elementwise.h"
#include "libsten/compute/ops/common/output.h"
#include "libsten/core/base/cuda.h"
#include "libsten/core/base/fallback.h"
#include "libsten/core/layout/masked.h"

namespace sten {
namespace {

constexpr Index piece = 1024;  // fits in the L1 cache

// Has independent partial sums, which the compiler vectorizes.
template <class T>
double sum_of_squares(const T* x, Index n) {
  constexpr Index lanes = 8;
  std::array<double, lanes> sums{};
  Index i = 0;
  for (; i + lanes <= n; i += lanes)
    for (Index j = 0; j < lanes; ++j) {
      const double v = x[i + j];
      sums[j] += v * v;
    }
  for (; i < n; ++i) sums[0] += double{x[i]} * x[i];
  return ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

template <class T>
double squares(const T* x, Index n, const std::uint8_t* mask) {
  constexpr Index grain = Index{1} << 15;
  std::vector<double> sums(ceil_div(n, grain));
  parallel_for(std::ssize(sums), 1, [&](Index first, Index last) {
    std::array<T, piece> kept;
    for (Index s = first; s < last; ++s)
      for (Index i = s * grain; i < std::min(n, (s + 1) * grain); i += piece) {
        const Index count = std::min(piece, n - i);
        const T* from = x + i;
        if (mask) {
          with_width(sizeof(T), [&]<class U>(U) {
            kernels::elementwise().of<U>().mask_values(reinterpret_cast<const U*>(from),
                                                       mask + i / 8, count,
                                                       reinterpret_cast<U*>(kept.data()));
          });
          from = kept.data();
        }
        sums[s] += sum_of_squares(from, count);
      }
  });
  double sum = 0;
  for (const double s : sums) sum += s;
  return sum;
}

// The elements of a gradient that count in a norm.
struct Counted {
  Values values;
  Array<std::uint8_t> mask;  // empty: all

  Counted(const Tensor& gradient, const Tensor& w) {
    const bool is_dense = gradient.is<Dense>();
    // A sparse gradient at other positions counts at the weight's positions.
    if (!is_dense && !w.is<Dense>() && gradient.spec() != w.spec()) {
      *this = Counted(gradient.to_dense(), w);
      return;
    }
    if (is_dense && !w.is<Dense>()) mask = w.is<Masked>() ? w.as<Masked>().mask : w.stored().bits;
    values = *gradient.values();
  }
};

Index grains(Index n) { return ceil_div(n, kernels::squares_grain); }

void check_summands(const Tensor& sum, const Tensor& g) {
  if (sum.layout_name() != g.layout_name() || !g.values() ||
      sum.values()->size() != g.values()->size() || sum.dtype() != g.dtype())
    fail_usage("gradients to be summed differ: {} and {}", sum.spec().str(), g.spec().str());
  if (sum.device() != g.device())
    fail_usage("gradients to be summed are on {} and on {}", name_of(sum.device()),
               name_of(g.device()));
}

bool is_added_on_device(const Tensor& sum) {
  return sum.device() != Device::cpu && sum.dtype() == DType::F32;
}

// The operands of a sum that the device will compute.
kernels::AddedElements sum_of(Tensor& sum, const Tensor& g) {
  kernels::AddedElements e{};
  sum = Tensor::update(std::move(sum), [&](Values& to) {
    e = {to.mutate<float>().data(), g.values()->as<float>().data(), to.size()};
  });
  return e;
}

void begin_sums(std::span<const kernels::AddedElements> all) {
  if (all.empty()) return;
  launch(&kernels::StepFunctions::add, all);
}

}  // namespace

double squared_norm(const Tensor& gradient, const Tensor& w) {
  const Counted counted(gradient, w);
  const Array<std::uint8_t>& mask = counted.mask;
  const Values& v = counted.values;
  if (v.device() != Device::cpu && v.dtype() == DType::F32) {
    auto sums =
        Array<double>::uninitialized(static_cast<std::size_t>(grains(v.size())), Device::cuda);
    if (v.size() == 0) return 0;
    double* to = sums.mutate();
    const kernels::SquaredElements all{v.as<float>().data(), mask.data(), v.size()};
    launch(&kernels::StepFunctions::squares, std::span(&all, 1), to, nullptr);
    double sum = 0;
    for (const double s : sums.to(Device::cpu)) sum += s;
    return sum;
  }
  if (v.device() != Device::cpu) {
    report_on_cpu(fmt::format("the norm of {}", name_of(v.dtype())), v.device());
    return squared_norm(gradient.to(Device::cpu), w.to(Device::cpu));
  }
  return with_real("gradients", v.dtype(), [&]<class T>(T) {
    return squares(v.as<T>().data(), v.size(), mask.size() ? mask.data() : nullptr);
  });
}

DeviceNorm norm_on_device(std::span<const GradientOf> gradients, double clip, double* norm_to) {
  std::vector<Counted> all;  // of gradients that have elements
  std::vector<kernels::SquaredElements> squared;
  Index sums = 0;
  for (const GradientOf& g : gradients) {
    if (g.gradient->dtype() != DType::F32)
      fail_usage("gradients on a device must be F32, got {}", name_of(g.gradient->dtype()));
    Counted c(*g.gradient, *g.weight);
    const Index n = c.values.size();
    if (n == 0) continue;
    squared.push_back({c.values.as<float>().data(), c.mask.data(), n});
    sums += grains(n);
    all.push_back(std::move(c));
  }
  auto of = Array<double>::uninitialized(static_cast<std::size_t>(sums), Device::cuda);
  auto ends = Array<std::int64_t>::uninitialized(all.size(), Device::cuda);
  DeviceNorm made{Array<double>::uninitialized(norm_to ? 0 : 1, Device::cuda),
                  Array<float>::uninitialized(1, Device::cuda)};
  double *to = of.mutate(), *norm = norm_to ? norm_to : made.norm.mutate();
  std::int64_t* end = ends.mutate();
  float* scale = made.scale.mutate();
  if (!squared.empty()) launch(&kernels::StepFunctions::squares, squared, to, end);
  launch(&kernels::StepFunctions::norm, to, end, std::ssize(squared), clip, norm, scale);
  return made;
}

void add_gradient(Tensor& sum, const Tensor& g) {
  check_summands(sum, g);
  if (is_added_on_device(sum)) {
    const kernels::AddedElements e = sum_of(sum, g);
    return begin_sums({&e, 1});
  }
  if (sum.device() != Device::cpu) {
    report_on_cpu(fmt::format("sums of {}", name_of(sum.dtype())), sum.device());
    Tensor here = sum.to(Device::cpu);
    add_gradient(here, g.to(Device::cpu));
    sum = here.to(sum.device());
    return;
  }
  sum = Tensor::update(std::move(sum), [&](Values& to) {
    with_real("gradients", to.dtype(), [&]<class T>(T) {
      T* s = to.mutate<T>().data();
      const T* from = g.values()->as<T>().data();
      parallel_for(to.size(), mask_grain, [&](Index begin, Index end) {
        for (Index i = begin; i < end; ++i) s[i] += from[i];
      });
    });
  });
}

void GradientSums::add(Tensor& sum, Tensor g) {
  constexpr Index small = 1 << 16;
  constexpr std::size_t most = 256;
  check_summands(sum, g);
  if (!is_added_on_device(sum) || g.values()->size() > small) return add_gradient(sum, g);
  waiting_.push_back(sum_of(sum, g));
  held_.push_back(std::move(g));
  if (waiting_.size() == most) finish();
}

void GradientSums::finish() {
  begin_sums(waiting_);
  waiting_.clear();
  held_.clear();
}

}  // namespace sten
