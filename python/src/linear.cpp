// SPDX-License-Identifier: Apache-2.0
// Linear layers of PyTorch's CPU tensors, which pass as DLPack.
#include <nanobind/stl/vector.h>

#include "libsten/compute/ops/common/operators.h"
#include "python/src/bindings.h"

namespace sten::python {
namespace {

using Activations = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
using Result = nb::ndarray<nb::pytorch, nb::device::cpu>;

constexpr nb::dlpack::dtype bfloat16{static_cast<std::uint8_t>(nb::dlpack::dtype_code::Bfloat), 16,
                                     1};

Tensor borrow_tensor(const Activations& x) {
  const bool is_bf16 = x.dtype() == bfloat16;
  if (!is_bf16 && x.dtype() != nb::dtype<float>())
    fail_usage("linear: x must be float32 or bfloat16");
  Shape shape;
  for (std::size_t d = 0; d < x.ndim(); ++d) shape.push_back(static_cast<Index>(x.shape(d)));
  return Dense{std::move(shape),
               borrow(is_bf16 ? DType::BF16 : DType::F32, x, x.data(), x.nbytes())};
}

Result to_torch(Tensor x) {
  static std::uint64_t nothing = 0;
  const Shape shape = x.shape();
  const std::vector<std::size_t> extents(shape.begin(), shape.end());
  const nb::dlpack::dtype type = x.dtype() == DType::BF16 ? bfloat16 : nb::dtype<float>();
  auto* memory = new Array<std::byte>(take_dense(x).bytes());
  const nb::capsule owner = owner_of(memory);
  void* data = memory->size() ? static_cast<void*>(memory->mutate()) : &nothing;
  return Result(data, extents.size(), extents.data(), owner, nullptr, type);
}

// y[..., M] = x[..., K] * w[M, K]^T + bias[M].
Result linear(const Activations& x, const Tensor& w, const Tensor* bias) {
  const Tensor in = borrow_tensor(x);
  const auto run = [&] {
    const nb::gil_scoped_release unlocked;
    return bias ? sten::linear(in, w, *bias) : sten::linear(in, w);
  };
  return to_torch(run());
}

// The gradient of x: dx[..., K] = dy[..., M] * w[M, K].
Result linear_grad(const Activations& dy, const Tensor& w) {
  const Tensor back = borrow_tensor(dy);
  const auto run = [&] {
    const nb::gil_scoped_release unlocked;
    Shape shape = back.shape();
    if (shape.empty()) fail_usage("linear: the gradient has rank 0");
    shape.back() = w.shape().back();
    // The gradient depends on the shape of x only.
    const Tensor x = Dense{shape, Values::uninitialized(back.dtype(), size_of(shape))};
    const OutFormat* formats[] = {&OutFormat::dense(), nullptr};
    const Tensor in[] = {back, x, w};
    static const Name op("linear.grad");
    return *std::move(sten::run(op, {in, formats, Attributes()}).front());
  };
  return to_torch(run());
}

}  // namespace

void bind_linear(nb::module_& m) {
  m.def("linear", &linear, nb::arg(), nb::arg(), nb::arg().none());
  m.def("linear_grad", &linear_grad);
}

}  // namespace sten::python
