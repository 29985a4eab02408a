#include "libsten/ops/device.h"

namespace sten {
namespace {

const std::byte* bytes_there(std::string_view op, const Tensor& x, DType dtype) {
  if (x.dtype() != dtype)
    fail_unsupported("{} on a device is of {}, not of {}", op, name_of(dtype), name_of(x.dtype()));
  return x.as<Dense>().values.bytes().data();
}

}  // namespace

const float* floats_there(std::string_view op, const Tensor& x) {
  return reinterpret_cast<const float*>(bytes_there(op, x, DType::F32));
}
const std::int64_t* integers_there(std::string_view op, const Tensor& x) {
  return reinterpret_cast<const std::int64_t*>(bytes_there(op, x, DType::I64));
}

Dense output_there(const Shape& shape, DType dtype) {
  return {shape, Values::uninitialized(dtype, size_of(shape), Device::cuda)};
}
float* floats_of_output(Dense& y) { return reinterpret_cast<float*>(y.values.mutate_bytes()); }

void add_there(Operators& all, Name op, std::size_t inputs, Implementation run,
               std::size_t outputs) {
  add_there(all, op, std::vector<Name>(inputs, Name("dense")), std::move(run), outputs);
}
void add_there(Operators& all, Name op, std::vector<Name> layouts, Implementation run,
               std::size_t outputs) {
  all.add({op, std::move(layouts), std::vector<OutSignature>(outputs), Device::cuda},
          std::move(run));
}

}  // namespace sten
