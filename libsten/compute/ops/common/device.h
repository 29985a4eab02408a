// SPDX-License-Identifier: Apache-2.0
// Helpers of device operators. They support F32; for other dtypes they throw Unsupported, and the
// CPU runs the operator.
#pragma once
#include <initializer_list>

#include "libsten/core/base/cuda.h"
#include "libsten/core/dispatch/operators.h"

namespace sten {

// The values of a dense tensor in device memory. Unsupported unless they are F32; `op` is for the
// message.
const float* floats_on_device(std::string_view op, const Tensor& x);
// The integers of a dense tensor. Unsupported unless they are I64.
const std::int64_t* integers_on_device(std::string_view op, const Tensor& x);
// The kind of F32, I64 and BOOL; Unsupported for others.
kernels::ElementKind kind_on_device(std::string_view op, DType dtype);
// as_dtype() for values on a device.
Values cast_on_device(std::string_view op, const Values& x, DType to);
// An uninitialized output on the device.
Dense output_on_device(const Shape& shape, DType dtype = DType::F32);
float* floats_of_output(Dense& y);
// The F32 output of a function of the backend, its last argument.
template <class Table, class... P, class... A>
Dense output_of(const Shape& shape, void (*Table::*function)(P...), A&&... args) {
  Dense y = output_on_device(shape);
  launch(function, std::forward<A>(args)..., floats_of_output(y));
  return y;
}

// Registers a device operator for dense inputs or the given layouts, with dense outputs that keep
// all values.
void add_device_operator(Operators& all, Name op, std::size_t inputs, Implementation run,
                         std::size_t outputs = 1);
void add_device_operator(Operators& all, Name op, std::vector<Name> layouts, Implementation run,
                         std::size_t outputs = 1);

}  // namespace sten
