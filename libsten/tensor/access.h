// Tensors from the containers of C++, and back to them.
#pragma once
#include <concepts>
#include <span>
#include <type_traits>
#include <vector>

#include "libsten/tensor/tensor.h"

namespace sten {

// The C++ type of a dtype's elements: float of F32, double of F64, std::int64_t of I64, ...
template <class T>
concept Element = std::same_as<T, std::uint8_t> || std::same_as<T, std::int8_t> ||
    std::same_as<T, std::uint16_t> || std::same_as<T, std::int16_t> ||
    std::same_as<T, std::uint32_t> || std::same_as<T, std::int32_t> ||
    std::same_as<T, std::uint64_t> || std::same_as<T, std::int64_t> || std::same_as<T, float> ||
    std::same_as<T, double>;

// A dense tensor of any dtype from the bytes of its elements, row-major, which are copied: for BF16,
// F16 and BOOL, which have no C++ type. Error (usage) unless the shape has as many elements.
Tensor tensor_of(Shape shape, DType dtype, std::span<const std::byte> bytes);

// The same from elements, in the dtype of their type: tensor_of({2, 3}, v) for a vector of 6 floats
// is F32.
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
// The tensor's dense form in its own memory. Error (usage) unless it is dense, of that dtype and on
// the CPU.
const Dense& check_dense(const Tensor& x, DType asked);
// Error (usage) unless x has that dtype.
Dense unpacked(const Tensor& x, DType asked);

}  // namespace access_detail

// The elements of a dense tensor on the CPU, row-major; they live as long as the tensor or a copy of
// it. Error (usage) for other layouts and devices, and where T is the type of another dtype.
template <Element T>
std::span<const T> data(const Tensor& x) {
  return access_detail::check_dense(x, dtype_for<T>()).values.template as<T>();
}
template <Element T>
std::span<const T> data(const Tensor&&) = delete;  // the elements would be gone

// A copy of all elements, row-major, from any layout and device. Error (usage) where T is the type of
// another dtype.
template <Element T>
std::vector<T> to_vector(const Tensor& x) {
  const Dense dense = access_detail::unpacked(x, dtype_for<T>());
  const std::span<const T> all = dense.values.template as<T>();
  return {all.begin(), all.end()};
}

// The one element of a tensor, such as a loss, as the nearest double, from any layout and device.
// Error (usage) for a tensor of more elements or none, and for dtypes that are not real numbers. A
// template, so that a function of this name in your own program is preferred.
template <std::same_as<Tensor> T>
double number(const T& x) {
  return access_detail::number(x);
}

}  // namespace sten
