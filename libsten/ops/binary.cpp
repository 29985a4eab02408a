// Elementwise operators of two tensors, repeated to one shape.
#include "libsten/ops/broadcast.h"
#include "libsten/ops/check.h"
#include "libsten/ops/output.h"
#include "libsten/ops/register.h"
#include "libsten/ops/sum_axes.h"

namespace sten {
namespace {

// f(a, b) of elements that are repeated to `shape`.
template <class T, class F>
Tensor combine(const OutFormat& format, const Shape& shape, const Dense& a, const Dense& b, F f) {
  const T *pa = a.values.as<T>().data(), *pb = b.values.as<T>().data();
  if (a.extents == b.extents)
    return write_elements<T>(format, shape, [&](Index begin, Index end, T* to) {
      for (Index i = begin; i < end; ++i) to[i - begin] = f(pa[i], pb[i]);
    });
  const Broadcast repeated(shape, a.extents, b.extents);
  return write_elements<T>(format, shape, [&](Index begin, Index end, T* to) {
    repeated.each_run(begin, end, [&](Index i, Index n, Index ia, Index sa, Index ib, Index sb) {
      T* out = to + (i - begin);
      const T *x = pa + ia, *y = pb + ib;
      if (sa == 1 && sb == 1)
        for (Index k = 0; k < n; ++k) out[k] = f(x[k], y[k]);
      else if (sa == 1)
        for (Index k = 0; k < n; ++k) out[k] = f(x[k], *y);
      else
        for (Index k = 0; k < n; ++k) out[k] = f(*x, y[k]);
    });
  });
}

// The gradient of an operand from that of its repetitions: those are added up.
template <class T>
Tensor sum_to(const OutFormat& format, const Dense& repeated, const Shape& shape) {
  const std::size_t rank = repeated.extents.size(), missing = rank - shape.size();
  std::vector<bool> over(rank);
  for (std::size_t d = 0; d < rank; ++d)
    over[d] = d < missing || (shape[d - missing] == 1 && repeated.extents[d] != 1);
  const std::vector<double> sums = sum_axes(repeated.values.as<T>().data(), repeated.extents, over);
  return write_elements<T>(format, shape, [&](Index begin, Index end, T* to) {
    for (Index i = begin; i < end; ++i) to[i - begin] = static_cast<T>(sums[i]);
  });
}

template <class F>
void add_forward(Operators& all, Name op, Keeps keeps, F f) {
  all.declare(op, {keeps});
  add_streamed(all, op, {"dense", "dense"}, 1, [op, f](const Call& call) -> Outputs {
    call.attributes.check(op.text(), {});
    const Dense &a = call.in[0].as<Dense>(), &b = call.in[1].as<Dense>();
    check_dtypes(op.text(), "a", a.dtype(), "b", b.dtype());
    const Shape shape = broadcast_shape(op.text(), a.extents, b.extents);
    return with_real(op.text(), a.dtype(), [&]<class T>(T) -> Outputs {
      return {combine<T>(call.out(), shape, a, b, f)};
    });
  });
}

// Of add and sub: dy, for the second operand with that sign.
void add_sum_grad(Operators& all, Name op, int sign) {
  add_streamed(all, op, {"dense"}, 2, [op, sign](const Call& call) -> Outputs {
    const Dense& dy = call.in[0].as<Dense>();
    const Shape &a = input_shape(op.text(), call, 0), &b = input_shape(op.text(), call, 1);
    check_gradient(op.text(), dy, broadcast_shape(op.text(), a, b));
    return with_real(op.text(), dy.dtype(), [&]<class T>(T) -> Outputs {
      const T* in = dy.values.as<T>().data();
      Outputs out(2);
      for (std::size_t i = 0; i < 2; ++i) {
        if (!call.wants(i)) continue;
        const bool is_minus = i == 1 && sign < 0;
        if (call.shapes[i] == dy.extents && !is_minus && is_plain(call.out(i))) {
          out[i] = call.in[0];
          continue;
        }
        const auto signed_dy = [&](const OutFormat& format) {
          return write_elements<T>(format, dy.extents, [&](Index begin, Index end, T* to) {
            for (Index k = begin; k < end; ++k) to[k - begin] = is_minus ? -in[k] : in[k];
          });
        };
        if (call.shapes[i] == dy.extents)
          out[i] = signed_dy(call.out(i));
        else if (is_minus)
          out[i] = sum_to<T>(call.out(i), signed_dy(OutFormat::dense()).template as<Dense>(),
                             call.shapes[i]);
        else
          out[i] = sum_to<T>(call.out(i), dy, call.shapes[i]);
      }
      return out;
    });
  });
}

// Of mul: dy times the other operand.
void add_mul_grad(Operators& all) {
  add_streamed(all, "mul.grad", {"dense", "dense", "dense"}, 2, [](const Call& call) -> Outputs {
    const Dense& dy = call.in[0].as<Dense>();
    const Dense* operands[] = {&call.in[1].as<Dense>(), &call.in[2].as<Dense>()};
    for (const Dense* x : operands)
      check_dtypes("mul.grad", "the gradient", dy.dtype(), "an operand", x->dtype());
    check_gradient("mul.grad", dy,
                   broadcast_shape("mul.grad", operands[0]->extents, operands[1]->extents));
    return with_real("mul.grad", dy.dtype(), [&]<class T>(T) -> Outputs {
      Outputs out(2);
      for (std::size_t i = 0; i < 2; ++i) {
        if (!call.wants(i)) continue;
        const Shape& shape = operands[i]->extents;
        const bool is_repeated = shape != dy.extents;
        const OutFormat& format = is_repeated ? OutFormat::dense() : call.out(i);
        Tensor product = combine<T>(format, dy.extents, dy, *operands[1 - i],
                                    [](T g, T other) { return g * other; });
        out[i] = is_repeated ? sum_to<T>(call.out(i), product.template as<Dense>(), shape)
                             : std::move(product);
      }
      return out;
    });
  });
}

}  // namespace

void add_binary(Operators& all) {
  add_forward(all, "add", Keeps::nothing, [](auto a, auto b) { return a + b; });
  add_forward(all, "sub", Keeps::nothing, [](auto a, auto b) { return a - b; });
  add_forward(all, "mul", Keeps::inputs, [](auto a, auto b) { return a * b; });
  add_sum_grad(all, "add.grad", 1);
  add_sum_grad(all, "sub.grad", -1);
  add_mul_grad(all);
}

}  // namespace sten
