// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/ops/common/device.h"

namespace sten {
namespace {

const std::byte* bytes_on_device(std::string_view op, const Tensor& x, DType dtype) {
  if (x.dtype() != dtype)
    fail_unsupported("{} on a device supports {}, got {}", op, name_of(dtype), name_of(x.dtype()));
  return x.as<Dense>().values.bytes().data();
}

}  // namespace

const float* floats_on_device(std::string_view op, const Tensor& x) {
  return reinterpret_cast<const float*>(bytes_on_device(op, x, DType::F32));
}
const std::int64_t* integers_on_device(std::string_view op, const Tensor& x) {
  return reinterpret_cast<const std::int64_t*>(bytes_on_device(op, x, DType::I64));
}

kernels::ElementKind kind_on_device(std::string_view op, DType dtype) {
  if (dtype == DType::F32) return kernels::ElementKind::f32;
  if (dtype == DType::I64) return kernels::ElementKind::i64;
  if (dtype == DType::BOOL) return kernels::ElementKind::truth;
  fail_unsupported("{} on a device supports F32, I64 and BOOL, got {}", op, name_of(dtype));
}

Values cast_on_device(std::string_view op, const Values& x, DType to) {
  const kernels::ElementKind from_kind = kind_on_device(op, x.dtype()),
                             to_kind = kind_on_device(op, to);
  Values y = Values::uninitialized(to, x.size(), Device::cuda);
  std::byte* target = y.mutate_bytes();
  launch(&kernels::MapFunctions::cast, from_kind, to_kind, x.size(), x.bytes().data(), target);
  return y;
}

Dense output_on_device(const Shape& shape, DType dtype) {
  return {shape, Values::uninitialized(dtype, size_of(shape), Device::cuda)};
}
float* floats_of_output(Dense& y) { return reinterpret_cast<float*>(y.values.mutate_bytes()); }

void add_device_operator(Operators& all, Name op, std::size_t inputs, Implementation run,
                         std::size_t outputs) {
  add_device_operator(all, op, std::vector<Name>(inputs, Name("dense")), std::move(run), outputs);
}
void add_device_operator(Operators& all, Name op, std::vector<Name> layouts, Implementation run,
                         std::size_t outputs) {
  all.add({op, std::move(layouts), std::vector<OutSignature>(outputs), Device::cuda},
          std::move(run));
}

}  // namespace sten
