// SPDX-License-Identifier: Apache-2.0
// Registration of elementwise operators of one input.
#pragma once
#include <utility>

#include "libsten/compute/ops/common/check.h"
#include "libsten/compute/ops/common/output.h"

namespace sten {

namespace unary_detail {

// Applies f, or f.run(), to elements from index `first` on.
template <class T, class F>
void run_forward(const F& f, const T* x, Index first, Index n, T* y) {
  if constexpr (requires { f.run(x, n, y); })
    f.run(x, n, y);
  else
    for (Index i = 0; i < n; ++i) y[i] = f(x[i], first + i);
}
template <class T, class G>
void run_backward(const G& g, const T* dy, const T* saved, Index first, Index n, T* dx) {
  if constexpr (requires { g.run(dy, saved, n, dx); })
    g.run(dy, saved, n, dx);
  else
    for (Index i = 0; i < n; ++i) dx[i] = g(dy[i], saved[i], first + i);
}

}  // namespace unary_detail

// y[i] = f(x[i], i) and dx[i] = g(dy[i], saved[i], i); saved is x, y or dy (nothing), as the
// operator saves for backward. make(T{}, call), for T float and double, reads the attributes and
// returns {f, g}. Instead of one element per call, f and g may have f.run(x, n, y) and g.run(dy,
// saved, n, dx), also in place. Dense inputs support all outputs of OutputRows. If f(0) = 0, a
// sparse x in any layout with `values` gives its own layout and positions.
template <class Make>
void add_unary(Operators& all, Name op, SavedForBackward saves, bool zero_to_zero, Make make) {
  all.declare(op, {saves});
  const Name grad(std::string(op.text()) + ".grad");
  add_streamed(all, op, {"dense"}, 1, [op, make](const Call& call) -> Outputs {
    const Dense& x = call.in[0].as<Dense>();
    return with_real(op.text(), x.dtype(), [&]<class T>(T) -> Outputs {
      const auto f = make(T{}, call).first;
      const T* in = x.values.as<T>().data();
      return {write_elements<T>(call.out(), x.extents, [&](Index begin, Index end, T* to) {
        unary_detail::run_forward(f, in + begin, begin, end - begin, to);
      })};
    });
  });
  const std::vector<Name> in(saves == SavedForBackward::nothing ? 1 : 2, Name("dense"));
  add_streamed(all, grad, in, 1, [grad, make](const Call& call) -> Outputs {
    if (!call.wants(0)) return {std::nullopt};
    const Dense &dy = call.in[0].as<Dense>(), &saved = call.in.back().as<Dense>();
    check_alike(grad.text(), "the gradient", dy, "the tensor that was kept", saved);
    return with_real(grad.text(), dy.dtype(), [&]<class T>(T) -> Outputs {
      const auto g = make(T{}, call).second;
      const T *from = dy.values.as<T>().data(), *with = saved.values.as<T>().data();
      return {write_elements<T>(call.out(), dy.extents, [&](Index begin, Index end, T* to) {
        unary_detail::run_backward(g, from + begin, with + begin, begin, end - begin, to);
      })};
    });
  });
  if (!zero_to_zero) return;
  const auto same_layout = [](const Signature& s) {
    return s.in[0] != Name("dense") && (s.out[0].is_none() || s.in[0] == s.out[0].tmp);
  };
  // A sparse gradient, if nothing else is read.
  if (saves == SavedForBackward::nothing)
    all.add(
        {grad, {any::layout}, {{"keep-all", any::layout}}},
        [grad, make](const Call& call) -> Outputs {
          const Tensor& dy = call.in[0];
          if (!call.wants(0)) return {std::nullopt};
          return with_real(grad.text(), dy.dtype(), [&]<class T>(T) -> Outputs {
            const auto g = make(T{}, call).second;
            return {Tensor::update(dy, [&](Values& v) {
              const std::span<T> x = v.mutate<T>();
              unary_detail::run_backward(g, x.data(), x.data(), 0, std::ssize(x), x.data());
            })};
          });
        },
        same_layout);
  all.add(
      {op, {any::layout}, {{"keep-all", any::layout}}},
      [op, make](const Call& call) -> Outputs {
        const Tensor& x = call.in[0];
        return with_real(op.text(), x.dtype(), [&]<class T>(T) -> Outputs {
          const auto f = make(T{}, call).first;
          return {Tensor::update(x, [&](Values& v) {
            const Index n = v.size();
            T* to = v.mutate<T>().data();
            parallel_for(n, mask_grain, [&](Index begin, Index end) {
              unary_detail::run_forward(f, to + begin, begin, end - begin, to + begin);
            });
          })};
        });
      },
      same_layout);
}

// Registers in operators(), for namespace scope: see add_operator().
template <class Make>
bool add_unary(Name op, SavedForBackward saves, bool zero_to_zero, Make make) {
  add_unary(operators(), op, saves, zero_to_zero, std::move(make));
  return true;
}

}  // namespace sten
