#include "libsten/optim/gradients.h"

#include <array>

#include "kernels/elementwise.h"
#include "libsten/layout/masked.h"
#include "libsten/ops/output.h"

namespace sten {
namespace {

constexpr Index piece = 1024;  // is in the L1 cache

// In lanes, which the compiler makes vectors of.
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

}  // namespace

double squared_norm(const Tensor& gradient, const Tensor& w) {
  const bool is_dense = gradient.is<Dense>();
  // Of other positions, those of the weight count.
  if (!is_dense && !w.is<Dense>() && gradient.spec() != w.spec())
    return squared_norm(gradient.to_dense(), w);
  Array<std::uint8_t> mask;
  if (is_dense && !w.is<Dense>()) mask = w.is<Masked>() ? w.as<Masked>().mask : w.stored().bits;
  const Values& v = *gradient.values();
  return with_real("gradients", v.dtype(), [&]<class T>(T) {
    return squares(v.as<T>().data(), v.size(), mask.size() ? mask.data() : nullptr);
  });
}

void add_gradient(Tensor& sum, const Tensor& g) {
  if (sum.layout_name() != g.layout_name() || !g.values() ||
      sum.values()->size() != g.values()->size() || sum.dtype() != g.dtype())
    fail_usage("gradients to be added up are {} and {}", sum.spec().str(), g.spec().str());
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

}  // namespace sten
