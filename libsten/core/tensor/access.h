// SPDX-License-Identifier: Apache-2.0
// Tensors from C++ containers, and C++ containers from tensors.
#pragma once
#include <concepts>
#include <span>
#include <type_traits>
#include <vector>

#include "libsten/core/tensor/tensor.h"

namespace sten {

// C++ types of elements: float for F32, double for F64, std::int64_t for I64, ...
template <class T>
concept Element = std::same_as<T, std::uint8_t> || std::same_as<T, std::int8_t> ||
    std::same_as<T, std::uint16_t> || std::same_as<T, std::int16_t> ||
    std::same_as<T, std::uint32_t> || std::same_as<T, std::int32_t> ||
    std::same_as<T, std::uint64_t> || std::same_as<T, std::int64_t> || std::same_as<T, float> ||
    std::same_as<T, double>;

// Makes a dense tensor from the bytes of its elements, row-major, which are copied. For every
// dtype, including BF16, F16 and BOOL, which have no C++ type. Error (usage) if the number of
// elements differs from the shape's.
Tensor tensor_of(Shape shape, DType dtype, std::span<const std::byte> bytes);

// The same from elements of a C++ type: tensor_of({2, 3}, v) is F32 for a vector of 6 floats.
template <class T, std::size_t n>
requires Element<std::remove_const_t<T>> Tensor tensor_of(Shape shape, std::span<T, n> elements) {
  return tensor_of(std::move(shape), dtype_for<std::remove_const_t<T>>(), std::as_bytes(elements));
}
template <Element T>
Tensor tensor_of(Shape shape, const std::vector<T>& elements) {
  return tensor_of(std::move(shape), std::span(elements));
}

namespace access_detail {

double number(const Tensor& x);
// The dense form, in the tensor's memory. Error (usage) unless the tensor is dense, of the dtype
// `asked` and on the CPU.
const Dense& check_dense(const Tensor& x, DType asked);
// A dense copy on the CPU. Error (usage) unless x has the dtype `asked`.
Dense unpacked(const Tensor& x, DType asked);

}  // namespace access_detail

// The elements of a dense tensor on the CPU, row-major, valid as long as the tensor or a copy of
// it. Error (usage) for other layouts and devices, and if T is not the type of the dtype.
template <Element T>
std::span<const T> data(const Tensor& x) {
  return access_detail::check_dense(x, dtype_for<T>()).values.template as<T>();
}
template <Element T>
std::span<const T> data(const Tensor&&) = delete;  // the elements would be destroyed

// A copy of all elements, row-major, from any layout and device. Error (usage) if T is not the type
// of the dtype.
template <Element T>
std::vector<T> to_vector(const Tensor& x) {
  const Dense dense = access_detail::unpacked(x, dtype_for<T>());
  const std::span<const T> all = dense.values.template as<T>();
  return {all.begin(), all.end()};
}

// The only element of a tensor, such as a loss, as the nearest double; any layout and device. Error
// (usage) unless the tensor has exactly one element, and for dtypes that are not real. A template,
// so that a function `number` of the calling program is preferred.
template <std::same_as<Tensor> T>
double number(const T& x) {
  return access_detail::number(x);
}

}  // namespace sten
