// What implementations of operators on a device share. They are of F32; for other dtypes they throw
// Unsupported, and the CPU does it.
#pragma once
#include <initializer_list>

#include "libsten/base/cuda.h"
#include "libsten/dispatch/operators.h"

namespace sten {

// The values of a dense tensor, of the device's memory. Unsupported unless they are F32; `op` is for
// the message.
const float* floats_on_device(std::string_view op, const Tensor& x);
// Integers of a dense tensor likewise. Unsupported unless they are I64.
const std::int64_t* integers_on_device(std::string_view op, const Tensor& x);
// F32, I64 and BOOL; Unsupported for others.
kernels::ElementKind kind_on_device(std::string_view op, DType dtype);
// as_dtype() of such values that are on a device.
Values cast_on_device(std::string_view op, const Values& x, DType to);
// To be written by the device before anything reads it.
Dense output_on_device(const Shape& shape, DType dtype = DType::F32);
float* floats_of_output(Dense& y);

// An implementation on the device, of dense inputs or those with such layouts, with dense outputs that
// keep all values.
void add_device_operator(Operators& all, Name op, std::size_t inputs, Implementation run,
                         std::size_t outputs = 1);
void add_device_operator(Operators& all, Name op, std::vector<Name> layouts, Implementation run,
                         std::size_t outputs = 1);

}  // namespace sten
