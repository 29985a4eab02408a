// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/tensor/access.h"

#include <algorithm>

#include "libsten/core/base/error.h"
#include "libsten/core/base/floats.h"

namespace sten {

Tensor tensor_of(Shape shape, DType dtype, std::span<const std::byte> bytes) {
  const Index n = checked_size(shape), width = width_of(dtype);
  if (width == 0) fail_usage("{} elements are smaller than a byte", name_of(dtype));
  const Index size = static_cast<Index>(bytes.size());
  if (size % width != 0)
    fail_usage("expected {} elements of {} bytes, got {} bytes", name_of(dtype), width, size);
  if (size / width != n)
    fail_usage("shape {} has {} elements, got {}", to_string(shape), n, size / width);
  Dense x{std::move(shape), Values::uninitialized(dtype, n)};
  std::ranges::copy(bytes, x.values.mutate_bytes());
  return x;
}

namespace access_detail {
namespace {

void check_dtype(const Tensor& x, DType asked) {
  if (x.dtype() != asked)
    fail_usage("the tensor is {}, expected {} (convert with the operator cast)", name_of(x.dtype()),
               name_of(asked));
}

}  // namespace

double number(const Tensor& x) {
  const Shape shape = x.shape();
  if (const Index n = size_of(shape); n != 1)
    fail_usage("number(): expected a tensor of 1 element, got {} in shape {}", n, to_string(shape));
  const Values v = x.to_dense().to(Device::cpu).values;
  if (is_prunable(v.dtype()))
    return with_float(v.dtype(), [&]<class E>(E) {
      return static_cast<double>(E::decode(v.as<typename E::Bits>()[0]));
    });
  const auto integer = [&]<class T>(T) { return static_cast<double>(v.as<T>()[0]); };
  switch (v.dtype()) {
    case DType::BOOL:
    case DType::U8:
      return integer(std::uint8_t{});
    case DType::I8:
      return integer(std::int8_t{});
    case DType::U16:
      return integer(std::uint16_t{});
    case DType::I16:
      return integer(std::int16_t{});
    case DType::U32:
      return integer(std::uint32_t{});
    case DType::I32:
      return integer(std::int32_t{});
    case DType::U64:
      return integer(std::uint64_t{});
    case DType::I64:
      return integer(std::int64_t{});
    default:
      fail_usage("number(): expected a real number, got {}", name_of(v.dtype()));
  }
}

const Dense& check_dense(const Tensor& x, DType asked) {
  const Dense& dense = x.as<Dense>();
  check_dtype(x, asked);
  if (x.device() != Device::cpu)
    fail_usage("the tensor is on {}, expected cpu", name_of(x.device()));
  return dense;
}

Dense unpacked(const Tensor& x, DType asked) {
  check_dtype(x, asked);
  return x.to_dense().to(Device::cpu);
}

}  // namespace access_detail
}  // namespace sten
