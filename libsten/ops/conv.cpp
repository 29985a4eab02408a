// Convolutions of channels-last activations, transposed ones, and their gradients.
#include "kernels/reference/convolution.h"
#include "libsten/linalg/convolution.h"
#include "libsten/ops/bias.h"
#include "libsten/ops/check.h"
#include "libsten/ops/output.h"
#include "libsten/ops/product_output.h"
#include "libsten/ops/register.h"
#include "libsten/sparsify/same_pattern.h"

namespace sten {
namespace {

const Name same_pattern(SamePattern::name);

// Of one call, checked. A transposed convolution takes y to x: it is the gradient of x in a
// convolution with the same weight, and its own gradients are the other two.
struct Given {
  Convolution c;
  Shape result;  // of the operator
  bool has_bias;

  Given(std::string_view op, bool transposed, const Call& call, std::size_t first)
      : has_bias(call.in.size() > first + 2) {
    const Tensor &x = call.in[first], &w = call.in[first + 1];
    const Shape from = x.shape(), weight = w.shape();
    const auto& a = call.attributes;
    if (transposed)
      a.check(op, {"strides", "dilations", "pads", "groups", "output-padding"});
    else
      a.check(op, {"strides", "dilations", "pads", "groups"});
    const std::size_t axes = from.size() < 2 ? 0 : from.size() - 2;
    if (axes < 1 || axes > 3)
      fail_usage("{}: x is {}, not [N, spatial..., C] with 1 to 3 spatial axes", op,
                 to_string(from));
    if (weight.size() != from.size())
      fail_usage("{}: x is {} but w is {}", op, to_string(from), to_string(weight));
    c.groups = a.integer("groups", 1);
    c.batch = from.front();
    const Index channels = transposed ? weight[0] : weight[1] * c.groups;
    if (c.groups < 1 || weight[0] < 1 || weight[1] < 1 || weight[0] % c.groups != 0 ||
        from.back() != channels)
      fail_usage("{}: x is {}, channels last, and w is {} of {} groups: {}", op, to_string(from),
                 to_string(weight), c.groups,
                 from.back() != channels ? "it expects " + std::to_string(channels) + " channels"
                                         : "the groups do not divide its channels");
    c.out = weight[0];
    c.in = weight[1] * c.groups;
    if (has_bias) {
      const Shape b = call.in[first + 2].shape();
      if (b != Shape{transposed ? c.in : c.out})
        fail_usage("{}: b is {} but the result has {} channels", op, to_string(b),
                   transposed ? c.in : c.out);
      check_dtypes(op, "x", x.dtype(), "b", call.in[first + 2].dtype());
    }
    check_dtypes(op, "x", x.dtype(), "w", w.dtype());
    const auto list = [&](const char* name, std::size_t count, Index fallback, Index least) {
      const Attributes::List all = a.list(name, Attributes::List(count, fallback));
      if (all.size() != count ||
          std::ranges::any_of(all, [=](Index i) { return i < least || i > (Index{1} << 31); }))
        fail_usage("{}: {} is {}; x is {}, so that it takes {} numbers from {} on", op, name,
                   to_string(all), to_string(from), count, least);
      return all;
    };
    const Attributes::List strides = list("strides", axes, 1, 1),
                           spread = list("dilations", axes, 1, 1),
                           pads = list("pads", 2 * axes, 0, 0);
    const Attributes::List more =
        transposed ? list("output-padding", axes, 0, 0) : Attributes::List(axes);
    result = {c.batch};
    // The last axes of three, so that the innermost loop has something to do.
    for (std::size_t d = 0; d < axes; ++d) {
      const std::size_t to = 3 - axes + d;
      const Index kernel = weight[d + 2], size = from[d + 1];
      const Index span = (kernel - 1) * spread[d] + 1, pad = pads[d] + pads[axes + d];
      if (kernel < 1) fail_usage("{}: w is {}", op, to_string(weight));
      const Index other = transposed ? (size - 1) * strides[d] + span - pad + more[d]
                                     : (size + pad - span) / strides[d] + 1;
      if (size < 1 || other < 1 || (!transposed && size + pad < span))
        fail_usage("{}: x is {}, w is {}, padding {}: the window does not fit axis {}", op,
                   to_string(from), to_string(weight), to_string(pads), d + 1);
      c.kernel[to] = kernel;
      c.stride[to] = strides[d];
      c.dilation[to] = spread[d];
      c.before[to] = pads[d];
      c.size[to] = transposed ? other : size;
      c.result[to] = transposed ? size : other;
      result.push_back(other);
    }
    result.push_back(transposed ? c.in : c.out);
    checked_size(result);
  }
};

// An output that `fill(T* to)` computes as a whole.
template <class T, class F>
Tensor write_whole(const OutFormat& format, const Shape& shape, F&& fill) {
  OutputRows<T> out(format, shape);
  if (size_of(shape) == 0) return out.take();
  if (T* to = out.in_place()) {
    fill(to);
    return out.take();
  }
  std::vector<T> all(size_of(shape));
  fill(all.data());
  out.write(0, out.rows(), all.data());
  return out.take();
}

// F64 is for checking: by the formula.
void convolve_any(const Convolution& c, const float* x, const Tensor& w, const float* b, float* y) {
  w.derived()
      .get<KeptWeights>([] { return KeptWeights(); })
      ->convolve(c, x, values_of<float>(w), b, y);
}
void convolve_any(const Convolution& c, const double* x, const Tensor& w, const double* b,
                  double* y) {
  kernels::convolve_reference(c, x, values_of<double>(w), b, y);
}
void data_any(const Convolution& c, const float* dy, const float* w, float* dx) {
  convolve_data(c, dy, w, dx);
}
void data_any(const Convolution& c, const double* dy, const double* w, double* dx) {
  kernels::convolve_data_reference(c, dy, w, dx);
}
void weights_any(const Convolution& c, const float* x, const float* dy, float* dw) {
  convolve_weights(c, x, dy, dw);
}
void weights_any(const Convolution& c, const double* x, const double* dy, double* dw) {
  kernels::convolve_weights_reference(c, x, dy, dw);
}

template <class T>
const T* bias_of(const Call& call, std::size_t i) {
  return i < call.in.size() ? values_of<T>(call.in[i]) : nullptr;
}

template <bool transposed>
Outputs forward(const Call& call) {
  const char* op = transposed ? "conv-transpose" : "conv";
  const Given g(op, transposed, call, 0);
  return with_real(op, call.in[0].dtype(), [&]<class T>(T) -> Outputs {
    const T* x = values_of<T>(call.in[0]);
    const T* b = bias_of<T>(call, 2);
    return {write_whole<T>(call.out(), g.result, [&](T* to) {
      if (!transposed) return convolve_any(g.c, x, call.in[1], b, to);
      data_any(g.c, x, values_of<T>(call.in[1]), to);
      if (b) add_bias(size_of(g.result) / g.c.in, g.c.in, b, to);
    })};
  });
}

template <bool transposed>
Outputs backward(const Call& call) {
  const char* op = transposed ? "conv-transpose.grad" : "conv.grad";
  const Given g(op, transposed, call, 1);
  const Dense& dy = call.in[0].as<Dense>();
  const Tensor &x = call.in[1], &w = call.in[2];
  check_gradient(op, dy, g.result);
  check_dtypes(op, "x", x.dtype(), "the gradient", dy.dtype());
  return with_real(op, dy.dtype(), [&]<class T>(T) -> Outputs {
    const T *from = dy.values.as<T>().data(), *in = values_of<T>(x), *weight = values_of<T>(w);
    Outputs grads(call.formats.size());
    if (call.wants(0))
      grads[0] = write_whole<T>(call.out(0), x.shape(), [&](T* to) {
        if (transposed)
          convolve_any(g.c, from, w, static_cast<const T*>(nullptr), to);
        else
          data_any(g.c, from, weight, to);
      });
    const auto weights = [&](T* to) {
      if (transposed)
        weights_any(g.c, from, in, to);
      else
        weights_any(g.c, in, from, to);
    };
    if (call.wants(1) && call.out(1).inline_by.name() == same_pattern)
      grads[1] = gradient_at<T>(
          op, w, call.out(1), [&]() -> Tensor { fail_unsupported("{}: w is {}", op, w.layout()); },
          weights);
    else if (call.wants(1))
      grads[1] = write_whole<T>(call.out(1), w.shape(), weights);
    if (g.has_bias && call.wants(2))
      grads[2] =
          bias_gradient(call.out(2), size_of(g.result) / g.result.back(), g.result.back(), from);
    return grads;
  });
}

template <bool transposed>
void add(Operators& all, const char* op) {
  const std::string grad = std::string(op) + ".grad";
  all.declare(op, {Keeps::inputs});
  for (const bool has_bias : {false, true})
    for (const char* layout : {"dense", "masked"}) {
      std::vector<Name> in{"dense", layout};
      if (has_bias) in.emplace_back("dense");
      add_streamed(all, op, in, 1, forward<transposed>);
      in.insert(in.begin(), "dense");
      add_product_grad(all, grad, in, 1, backward<transposed>);
    }
}

}  // namespace

void add_convolutions(Operators& all) {
  add<false>(all, "conv");
  add<true>(all, "conv-transpose");
}

}  // namespace sten
