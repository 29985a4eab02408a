// SPDX-License-Identifier: Apache-2.0
// The extension module sten_tools._native: what its files have in common.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "libsten/core/tensor/tensor.h"

namespace sten::python {

namespace nb = nanobind;

void bind_errors(nb::module_& m);
void bind_tensor(nb::module_& m);
void bind_files(nb::module_& m);
void bind_programs(nb::module_& m);
void bind_linear(nb::module_& m);
void bind_model(nb::module_& m);

// The bytes of a contiguous array, of any dtype.
using ByteArray = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// The dtype of this name, such as "F32". Error (usage).
DType dtype_named(const std::string& name);
// Elements in the memory of a Python object, which lives as long as they do.
template <class Owner>
Values borrow(DType dtype, const Owner& array, const void* data, std::size_t bytes) {
  // The last reference may be dropped by any thread.
  const std::shared_ptr<const Owner> owner(new Owner(array), [](const Owner* p) {
    const nb::gil_scoped_acquire hold;
    delete p;
  });
  return {dtype, Array<std::byte>::borrow(owner, static_cast<const std::byte*>(data), bytes)};
}
// The dense form of a tensor. Takes its memory if nothing else has it; the tensor is empty then.
Values take_dense(Tensor& x);
// An owner of memory for Python objects.
inline nb::capsule owner_of(Array<std::byte>* memory) {
  return nb::capsule(memory, [](void* p) noexcept { delete static_cast<Array<std::byte>*>(p); });
}

}  // namespace sten::python
