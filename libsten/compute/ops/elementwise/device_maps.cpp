// Elementwise functions on a device.
#include <cmath>

#include "libsten/compute/ops/common/check.h"
#include "libsten/compute/ops/common/device.h"
#include "libsten/compute/ops/common/float_map.h"
#include "libsten/compute/ops/common/register.h"
#include "libsten/compute/ops/elementwise/dropout.h"

namespace sten {
namespace {

using kernels::MapFunction, kernels::MapParameters;
using kernels::cuda::Backend;

struct MapRow {
  const char* op;
  MapFunction f;
};
constexpr MapRow map_rows[] = {
    {"scale", MapFunction::scale},
    {"relu", MapFunction::relu},
    {"gelu", MapFunction::gelu},
    {"gelu-tanh", MapFunction::gelu_tanh},
    {"tanh", MapFunction::tanh},
    {"sigmoid", MapFunction::sigmoid},
    {"silu", MapFunction::silu},
    {"abs", MapFunction::abs},
    {"neg", MapFunction::neg},
    {"sign", MapFunction::sign},
    {"floor", MapFunction::floor},
    {"ceil", MapFunction::ceil},
    {"round", MapFunction::round},
    {"sqrt", MapFunction::sqrt},
    {"exp", MapFunction::exp},
    {"log", MapFunction::log},
    {"reciprocal", MapFunction::reciprocal},
    {"erf", MapFunction::erf},
    {"softplus", MapFunction::softplus},
    {"elu", MapFunction::elu},
    {"leaky-relu", MapFunction::leaky_relu},
    {"hard-sigmoid", MapFunction::hard_sigmoid},
    {"hard-swish", MapFunction::hard_swish},
    {"clip", MapFunction::clip},
    {"relu6", MapFunction::relu6},
    {"sin", MapFunction::sin},
    {"cos", MapFunction::cos},
    {"tan", MapFunction::tan},
    {"asin", MapFunction::asin},
    {"acos", MapFunction::acos},
    {"atan", MapFunction::atan},
    {"sinh", MapFunction::sinh},
    {"cosh", MapFunction::cosh},
    {"asinh", MapFunction::asinh},
    {"acosh", MapFunction::acosh},
    {"atanh", MapFunction::atanh},
    {"selu", MapFunction::selu},
    {"celu", MapFunction::celu},
    {"thresholded-relu", MapFunction::thresholded_relu},
    {"softsign", MapFunction::softsign},
    {"mish", MapFunction::mish},
    {"shrink", MapFunction::shrink},
};

// The parameters of a function: from the table in elementwise.cpp, or for functions of
// activation.cpp at most one attribute.
MapParameters map_parameters(const MapRow& row, const Attributes& attributes) {
  if (row.f == MapFunction::scale) {
    attributes.check(row.op, {"by"});
    return {static_cast<float>(attributes.number("by", 1)), 0};
  }
  if (row.f <= MapFunction::silu) {
    attributes.check(row.op, {});
    return {};
  }
  const std::array<float, 2> p = elementwise_parameters(row.op, attributes);
  return {p[0], p[1]};
}

Outputs map_on_device(const MapRow& row, const Call& call) {
  const float* x = floats_on_device(row.op, call.in[0]);
  const MapParameters p = map_parameters(row, call.attributes);
  Dense y = output_on_device(call.in[0].shape());
  float* to = floats_of_output(y);
  on_cuda([&](const Backend& backend, kernels::Stream stream) {
    backend.maps.map(row.f, p, y.size(), x, to, stream);
  });
  return {std::move(y)};
}

Outputs map_grad_on_device(const MapRow& row, const std::string& grad, const Call& call) {
  if (!call.wants(0)) return {std::nullopt};
  const Tensor &dy = call.in[0], &saved = call.in.back();
  check_alike(grad, "the gradient", dy.as<Dense>(), "the tensor that was kept", saved.as<Dense>());
  const float *from = floats_on_device(grad, dy), *with = floats_on_device(grad, saved);
  const MapParameters p = map_parameters(row, call.attributes);
  Dense dx = output_on_device(dy.shape());
  float* to = floats_of_output(dx);
  on_cuda([&](const Backend& backend, kernels::Stream stream) {
    backend.maps.map_grad(row.f, p, dx.size(), from, with, to, stream);
  });
  return {std::move(dx)};
}

// Drops the same elements of the gradient.
Outputs dropout_on_device(const Call& call) {
  const DropoutCall given(call, 1);
  Outputs out(call.formats.size());
  if (!call.wants(0)) return out;
  const float* x = floats_on_device("dropout", call.in[0]);
  const std::int64_t* draw = given.draw ? integers_on_device("dropout", call.in[1]) : nullptr;
  // k / 2^53 < p if and only if k < p * 2^53.
  const auto dropped = static_cast<std::uint64_t>(std::ceil(given.p * 0x1p53));
  const auto by = static_cast<float>(given.scale());
  Dense y = output_on_device(call.in[0].shape());
  float* to = floats_of_output(y);
  on_cuda([&](const Backend& backend, kernels::Stream stream) {
    backend.maps.drop(dropped, given.seed, draw, by, y.size(), x, to, stream);
  });
  out[0] = std::move(y);
  return out;
}

}  // namespace

void add_device_maps(Operators& all) {
  for (const MapRow& row : map_rows) {
    const std::string grad = std::string(row.op) + ".grad";
    const bool saves_nothing = all.what(row.op).saves == SavedForBackward::nothing;
    add_device_operator(all, row.op, 1,
                        [&row](const Call& call) { return map_on_device(row, call); });
    add_device_operator(all, grad, saves_nothing ? 1 : 2, [&row, grad](const Call& call) {
      return map_grad_on_device(row, grad, call);
    });
  }
  for (const std::size_t inputs : {1, 2}) {
    add_device_operator(all, "dropout", inputs, dropout_on_device);
    add_device_operator(all, "dropout.grad", inputs, dropout_on_device, inputs);
  }
}

}  // namespace sten
