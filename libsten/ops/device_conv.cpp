// Convolutions on a device, as products of the windows of images, and their gradients. Images are taken
// some at a time, so that windows do not fill the device's memory.
#include <algorithm>

#include "libsten/ops/conv.h"
#include "libsten/ops/device_product_output.h"
#include "libsten/ops/device_rows.h"
#include "libsten/ops/register.h"

namespace sten {
namespace {

using kernels::GemmOperands;
using kernels::ImageColumns;
using kernels::RowFunctions;
using kernels::Stream;

class ConvThere {
 public:
  ConvThere(std::string_view op, const Convolution& c) : c_(c) {
    constexpr Index most = (Index{1} << 30) - 1;
    const auto check = [&](Index n) {
      if (n > most)
        fail_unsupported("{} on a device is of images and weights of less than 2^30 elements", op);
    };
    columns_ = {0, c.in, c.groups, {}};
    for (std::size_t d = 0; d < 3; ++d) {
      check(c.size[d] + 2 * c.before[d]);
      check((c.result[d] - 1) * c.stride[d] + (c.kernel[d] - 1) * c.dilation[d]);
      const auto number = [=](Index n) { return static_cast<std::int32_t>(std::min(n, most)); };
      columns_.axes[d] = {number(c.size[d]),
                          number(c.result[d]),
                          number(c.kernel[d]),
                          number(c.stride[d]),
                          number(c.dilation[d]),
                          number(c.before[d]),
                          0,
                          false};
      is_plain_ &=
          c.kernel[d] == 1 && c.stride[d] == 1 && c.before[d] == 0 && c.size[d] == c.result[d];
    }
    check(c.out * c.group_in() * c.taps());
    check(c.in * c.taps());
    check(c.pixels());
    check(c.places());
    const Index width = c.places() * c.in * c.taps(), largest = std::max(c.pixels(), c.places());
    at_once_ =
        std::max<Index>(1, std::min(most_elements / std::max<Index>(1, width), most / largest));
  }

  void forward(const float* x, const float* w, float* y) const {
    const Dense turned = turned_weights(w);
    Dense columns = memory();
    each_piece([&](Index first, const ImageColumns& piece) {
      GemmOperands g = products(piece);
      g.n = c_.group_out(), g.k = width();
      g.a = seen_of(x + first * c_.pixels() * c_.in, piece, columns);
      g.lda = c_.groups * width(), g.a_step = width();
      g.b = data_of(turned, w), g.ldb = width(), g.b_step = c_.group_out() * width();
      g.turn_b = true;
      g.c = y + first * c_.places() * c_.out, g.ldc = c_.out, g.c_step = c_.group_out();
      device_gemm(g);
    });
  }
  void data(const float* dy, const float* w, float* dx) const {
    const Dense turned = turned_weights(w);
    Dense columns = memory();
    each_piece([&](Index first, const ImageColumns& piece) {
      float* const to = dx + first * c_.pixels() * c_.in;
      GemmOperands g = products(piece);
      g.n = width(), g.k = c_.group_out();
      g.a = dy + first * c_.places() * c_.out, g.lda = c_.out, g.a_step = c_.group_out();
      g.b = data_of(turned, w), g.ldb = width(), g.b_step = c_.group_out() * width();
      g.c = is_plain_ ? to : floats_of_output(columns);
      g.ldc = c_.groups * width(), g.c_step = width();
      device_gemm(g);
      if (!is_plain_)
        with_rows_there([&](const RowFunctions& f, Stream stream) {
          f.sum_image_columns(g.c, piece, to, stream);
        });
    });
  }
  void weights(const float* x, const float* dy, float* dw) const {
    Dense columns = memory(), sums = output_there({is_plain_ ? 0 : c_.out * width()});
    float* const to = is_plain_ ? dw : floats_of_output(sums);
    each_piece([&](Index first, const ImageColumns& piece) {
      GemmOperands g = products(piece);
      g.k = g.m;
      g.m = c_.group_out(), g.n = width();
      g.a = dy + first * c_.places() * c_.out, g.lda = c_.out, g.a_step = c_.group_out();
      g.turn_a = true;
      g.b = seen_of(x + first * c_.pixels() * c_.in, piece, columns);
      g.ldb = c_.groups * width(), g.b_step = width();
      g.c = to, g.ldc = width(), g.c_step = c_.group_out() * width();
      g.beta = first == 0 ? 0 : 1;
      device_gemm(g);
    });
    if (!is_plain_)
      with_rows_there([&](const RowFunctions& f, Stream stream) {
        f.turn(to, c_.out, c_.taps(), c_.group_in(), dw, stream);
      });
  }
  bool is_empty() const { return c_.batch == 0; }

 private:
  static constexpr Index most_elements = Index{1} << 26;  // of windows at a time

  Index width() const { return c_.taps() * c_.group_in(); }
  Index pieces_images() const { return std::min(at_once_, c_.batch); }
  // Windows of a piece; none where they are the images.
  Dense memory() const {
    return output_there({is_plain_ ? 0 : pieces_images() * c_.places() * c_.groups * width()});
  }
  // [out, taps, channels of a group], as windows have them.
  Dense turned_weights(const float* w) const {
    Dense to = output_there({is_plain_ ? 0 : c_.out * width()});
    if (!is_plain_)
      with_rows_there([&](const RowFunctions& f, Stream stream) {
        f.turn(w, c_.out, c_.group_in(), c_.taps(), floats_of_output(to), stream);
      });
    return to;
  }
  const float* data_of(const Dense& turned, const float* w) const {
    return is_plain_ ? w : reinterpret_cast<const float*>(turned.values.bytes().data());
  }
  const float* seen_of(const float* x, const ImageColumns& piece, Dense& columns) const {
    if (is_plain_) return x;
    float* const to = floats_of_output(columns);
    with_rows_there(
        [&](const RowFunctions& f, Stream stream) { f.image_columns(x, piece, to, stream); });
    return to;
  }
  GemmOperands products(const ImageColumns& piece) const {
    GemmOperands g;
    g.m = piece.images * c_.places();
    g.batch = c_.groups;
    return g;
  }
  template <class F>
  void each_piece(F&& f) const {
    for (Index first = 0; first < c_.batch; first += at_once_) {
      ImageColumns piece = columns_;
      piece.images = std::min(at_once_, c_.batch - first);
      f(first, piece);
    }
  }

  Convolution c_;
  ImageColumns columns_;
  bool is_plain_ = true;  // one tap that sees each pixel once
  Index at_once_ = 1;     // images
};

template <bool transposed>
Outputs convolution_there(const Call& call) {
  const char* op = transposed ? "conv-transpose" : "conv";
  const ConvCall g(op, transposed, call, 0);
  const float *x = elements_there(op, call.in[0]), *w = elements_there(op, call.in[1]);
  const float* b = g.has_bias ? floats_there(op, call.in[2]) : nullptr;
  const ConvThere conv(op, g.c);
  Dense y = output_there(g.result);
  float* const to = floats_of_output(y);
  if (conv.is_empty()) return {std::move(y)};
  if (transposed)
    conv.data(x, w, to);
  else
    conv.forward(x, w, to);
  const Index channels = g.result.back();
  if (b)
    on_cuda([&](const kernels::cuda::Backend& cuda, Stream stream) {
      cuda.maps.add_bias(y.size() / channels, channels, b, to, stream);
    });
  return {std::move(y)};
}

template <bool transposed>
Outputs convolution_grad_there(const Call& call) {
  const char* op = transposed ? "conv-transpose.grad" : "conv.grad";
  const ConvCall g(op, transposed, call, 1);
  const Tensor &x = call.in[1], &w = call.in[2];
  const Dense& dy = call.in[0].as<Dense>();
  check_gradient(op, dy, g.result);
  check_dtypes(op, "x", x.dtype(), "the gradient", dy.dtype());
  const float *from = floats_there(op, call.in[0]), *in = elements_there(op, x),
              *weight = elements_there(op, w);
  const ConvThere conv(op, g.c);
  Outputs grads(call.formats.size());
  if (call.wants(0)) {
    Dense dx = output_there(x.shape());
    if (!conv.is_empty()) {
      if (transposed)
        conv.forward(from, weight, floats_of_output(dx));
      else
        conv.data(from, weight, floats_of_output(dx));
    }
    grads[0] = std::move(dx);
  }
  if (call.wants(1))
    grads[1] = gradient_there(op, w, call.out(1), [&](float* to) {
      if (conv.is_empty())
        clear_bytes(to, Device::cuda, static_cast<std::size_t>(size_of(w.shape())) * sizeof *to);
      else if (transposed)
        conv.weights(from, in, to);
      else
        conv.weights(in, from, to);
    });
  if (g.has_bias && call.wants(2)) {
    const Index channels = g.result.back();
    Dense sum = output_there({channels});
    on_cuda([&](const kernels::cuda::Backend& cuda, Stream stream) {
      cuda.maps.sum_rows(dy.size() / channels, channels, from, floats_of_output(sum), stream);
    });
    grads[2] = std::move(sum);
  }
  return grads;
}

template <bool transposed>
void add_convolution_there(Operators& all, const std::string& op) {
  for (const bool has_bias : {false, true})
    for (const char* layout : {"dense", "masked"}) {
      std::vector<Name> in{"dense", layout};
      if (has_bias) in.emplace_back("dense");
      add_there(all, op, in, convolution_there<transposed>);
      in.insert(in.begin(), "dense");
      add_product_grad_there(all, op + ".grad", in, {1}, convolution_grad_there<transposed>);
    }
}

}  // namespace

void add_device_convolutions(Operators& all) {
  add_convolution_there<false>(all, "conv");
  add_convolution_there<true>(all, "conv-transpose");
}

}  // namespace sten
