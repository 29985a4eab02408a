// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/measure/measure.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/elementwise.h"
#include "libsten/core/base/error.h"
#include "libsten/core/base/fallback.h"
#include "libsten/core/base/floats.h"
#include "libsten/core/tensor/device_view.h"
#include "libsten/programs/rewrite/by_segment.h"

namespace sten {
namespace {

// The sums of one segment. The sum of finite F64 values may exceed double.
template <class E>
Magnitudes sums_of(const typename E::Bits* x, const std::uint8_t* bits, Index n) {
  const kernels::MagnitudeSums s = kernels::elementwise().of<E::kind>().sum_magnitudes(x, bits, n);
  if (E::kind != FloatKind::f64 || !std::isinf(s.all)) return {s.all, s.kept};
  Magnitudes wide;
  for (Index i = 0; i < n; ++i) {
    const long double v = std::abs(E::decode(x[i]));
    wide.all += v;
    if (bit_at(bits, i)) wide.kept += v;
  }
  return wide;
}

// The number of zeros among n elements after masking by `bits`.
template <class U>
Index zeros_after(const U* x, const std::uint8_t* bits, Index n) {
  const auto& kernel = kernels::elementwise().of<U>();
  if (kernel.count_key(x, n, 0) == 0)  // dense weights rarely have zeros
    return n - kernels::elementwise().count_bits(bits, n);
  std::vector<U> masked(n);
  kernel.mask_values(x, bits, n, masked.data());
  return kernel.count_key(masked.data(), n, 0);
}

// Calls f(backend, stream) for the device of x, which is not the CPU.
template <class F>
auto ask_device(const Dense& x, F&& f) {
  return on_cuda([&](const auto& cuda, kernels::Stream stream) {
    return f(cuda.elementwise, elements_of(x.values), stream);
  });
}

Magnitudes magnitudes_on_device(const Dense& x, const Mask& keep) {
  const Index pieces = ceil_div(x.size(), mask_grain);
  auto sums = Array<double>::uninitialized(static_cast<std::size_t>(2 * pieces), x.device());
  double* to = sums.mutate();
  ask_device(x, [&](const auto& device, kernels::Elements v, kernels::Stream stream) {
    device.sum_magnitudes(v, float_kind(x.dtype()), keep.bits.data(), mask_grain, to, stream);
  });
  const Array<double> here = sums.to(Device::cpu);
  Magnitudes sum;
  for (Index p = 0; p < pieces; ++p) {
    sum.all += here[2 * p];
    sum.kept += here[2 * p + 1];
  }
  return x.dtype() == DType::F64 && std::isinf(sum.all)
             ? sten::magnitudes(x.to(Device::cpu), keep.to(Device::cpu))
             : sum;
}

}  // namespace

Magnitudes magnitudes(const Dense& x, const Mask& keep) {
  if (x.device() != Device::cpu) return magnitudes_on_device(x, keep);
  Magnitudes sum;
  with_float(x.dtype(), [&]<class E>(E) {
    const auto v = x.values.as<typename E::Bits>();
    for (const Magnitudes& m : by_segment<Magnitudes>(x.size(), [&](Index begin, Index end) {
           return sums_of<E>(v.data() + begin, keep.bits.data() + begin / 8, end - begin);
         })) {
      sum.all += m.all;
      sum.kept += m.kept;
    }
  });
  return sum;
}

MaskedDense mask_and_measure(const Dense& x, const Mask& keep) {
  check_same_shape(x, keep);
  if (x.device() != Device::cpu) {
    Dense masked = Dense::pack(x, keep);
    const Index zero = zeros(masked);
    return {std::move(masked), magnitudes_on_device(x, keep), zero};
  }
  MaskedDense out{{x.extents, Values::uninitialized(x.dtype(), x.size())}, {}, 0};
  struct Segment {
    Magnitudes sums;
    Index zeros;
  };
  with_float(x.dtype(), [&]<class E>(E) {
    using U = typename E::Bits;
    const auto from = x.values.as<U>();
    const auto to = out.values.values.mutate<U>();
    const auto& width = kernels::elementwise().of<U>();
    for (const Segment& p : by_segment<Segment>(x.size(), [&](Index begin, Index end) -> Segment {
           const std::uint8_t* bits = keep.bits.data() + begin / 8;
           width.mask_values(from.data() + begin, bits, end - begin, to.data() + begin);
           return {sums_of<E>(from.data() + begin, bits, end - begin),
                   width.count_key(to.data() + begin, end - begin, 0)};
         })) {
      out.magnitudes.all += p.sums.all;
      out.magnitudes.kept += p.sums.kept;
      out.zeros += p.zeros;
    }
  });
  return out;
}

Magnitudes finite_magnitudes(const Dense& x, const Mask& keep) {
  return first_not_finite(x) ? magnitudes(Dense::pack(x, finite_mask(x)), keep)
                             : magnitudes(x, keep);
}

double energy(const Magnitudes& m) { return m.all == 0 ? 1 : ratio(m.kept, m.all); }

Mask value_mask(const Dense& x) {
  if (!is_prunable(x.dtype())) return nonzero_mask(x);
  if (const Device here = x.device(); here != Device::cpu)
    return value_mask(x.to(Device::cpu)).to(here);
  Mask m = Mask::none(x.extents);
  std::uint8_t* bits = m.bits.mutate();
  with_width(x.values.width(), [&]<class U>(U) {
    const auto v = x.values.as<U>();
    const auto& kernel = kernels::elementwise().of<U>();
    parallel_for(x.size(), mask_grain, [&](Index begin, Index end) {
      kernel.keep_above(v.data() + begin, end - begin, 0, 0, bits + begin / 8);
    });
  });
  return m;
}

Index zeros(const Dense& x) {
  if (x.device() != Device::cpu)
    return ask_device(x, [&](const auto& device, kernels::Elements v, kernels::Stream stream) {
      return is_prunable(x.dtype()) ? device.count_key(v, 0, stream)
                                    : v.n - device.count_nonzero(v, stream);
    });
  Index n = 0;
  with_width(x.values.width(), [&]<class U>(U) {
    const auto v = x.values.as<U>();
    const auto& kernel = kernels::elementwise().of<U>();
    const bool signed_zeros = is_prunable(x.dtype());
    for (const Index c : by_segment<Index>(x.size(), [&](Index begin, Index end) -> Index {
           return signed_zeros ? kernel.count_key(v.data() + begin, end - begin, 0)
                               : end - begin - kernel.count_nonzero(v.data() + begin, end - begin);
         }))
      n += c;
  });
  return n;
}

KeptMeasure measure_kept(const Dense& x, const Mask& keep) {
  check_same_shape(x, keep);
  if (x.device() != Device::cpu)
    return {magnitudes_on_device(x, keep), zeros(Dense::pack(x, keep))};
  struct Segment {
    Magnitudes sums;
    Index zeros;
  };
  KeptMeasure out;
  with_float(x.dtype(), [&]<class E>(E) {
    const auto v = x.values.as<typename E::Bits>();
    for (const Segment& p : by_segment<Segment>(x.size(), [&](Index begin, Index end) -> Segment {
           const std::uint8_t* bits = keep.bits.data() + begin / 8;
           return {sums_of<E>(v.data() + begin, bits, end - begin),
                   zeros_after(v.data() + begin, bits, end - begin)};
         })) {
      out.magnitudes.all += p.sums.all;
      out.magnitudes.kept += p.sums.kept;
      out.zeros += p.zeros;
    }
  });
  return out;
}

Index kept_zeros(const Dense& x, const Mask& keep) {
  Index n = keep.count() - x.size();
  if (x.device() != Device::cpu) return n + zeros(Dense::pack(x, keep));
  with_width(x.values.width(), [&]<class U>(U) {
    const auto v = x.values.as<U>();
    for (const Index zeros : by_segment<Index>(x.size(), [&](Index begin, Index end) {
           return zeros_after(v.data() + begin, keep.bits.data() + begin / 8, end - begin);
         }))
      n += zeros;
  });
  return n;
}

Mask finite_mask(const Dense& x) {
  if (x.device() != Device::cpu) return on_cpu("the finite elements", x, finite_mask);
  Mask finite = Mask::none(x.extents);
  std::uint8_t* bits = finite.bits.mutate();
  with_float(x.dtype(), [&]<class E>(E) {
    const auto v = x.values.as<typename E::Bits>();
    parallel_for(x.size(), mask_grain, [&](Index begin, Index end) {
      for (Index i = begin; i < end; ++i)
        if (std::isfinite(E::decode(v[i]))) set_bit(bits, i);
    });
  });
  return finite;
}

std::optional<Index> first_not_finite(const Dense& x) {
  if (!is_prunable(x.dtype())) return std::nullopt;
  if (x.device() != Device::cpu) {
    const Index at =
        ask_device(x, [&](const auto& device, kernels::Elements v, kernels::Stream stream) {
          return device.first_not_finite(v, float_kind(x.dtype()), stream);
        });
    return at < x.size() ? std::optional(at) : std::nullopt;
  }
  Index first = x.size();
  with_float(x.dtype(), [&]<class E>(E) {
    const auto v = x.values.as<typename E::Bits>();
    const auto& kernel = kernels::elementwise().of<E::kind>();
    for (const Index i : by_segment<Index>(x.size(), [&](Index begin, Index end) {
           const Index at = kernel.first_not_finite(v.data() + begin, end - begin);
           return at < end - begin ? begin + at : x.size();
         }))
      first = std::min(first, i);
  });
  if (first == x.size()) return std::nullopt;
  return first;
}

}  // namespace sten
