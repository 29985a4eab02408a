// SPDX-License-Identifier: Apache-2.0
// The class Tensor: a tensor in any layout. Arrays pass as bytes, since numpy and DLPack lack some
// dtypes; python/sten_tools/arrays.py gives them types.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "libsten/core/registry/registry.h"
#include "python/src/bindings.h"

namespace sten::python {
namespace {

// name, dtype, shape, bytes
using PythonPart = std::tuple<std::string, std::string, Shape, ByteArray>;

Values borrow_bytes(const std::string& dtype, const ByteArray& bytes) {
  return borrow(dtype_named(dtype), bytes, bytes.data(), bytes.size());
}

Tensor dense_tensor(const std::string& dtype, const Shape& shape, const ByteArray& bytes) {
  const DType type = dtype_named(dtype);
  if (width_of(type) == 0) fail_usage("{} elements are smaller than one byte", dtype);
  if (static_cast<Index>(bytes.size()) != checked_size(shape) * width_of(type))
    fail_usage("{} {}: expected {} bytes, got {}", dtype, to_string(shape),
               size_of(shape) * width_of(type), bytes.size());
  return Dense{shape, borrow_bytes(dtype, bytes)};
}

Tensor tensor_of_parts(const std::string& layout, const std::string& dtype, const Shape& shape,
                       const std::vector<PythonPart>& parts) {
  Stored stored{Spec::parse(layout), shape, dtype_named(dtype), {}};
  for (const auto& [name, type, extents, bytes] : parts)
    stored.parts.push_back({name, dtype_named(type), extents, borrow_bytes(type, bytes).bytes()});
  return registry().load(stored);
}

nb::object numpy_bytes(Array<std::byte> bytes, bool is_writable) {
  static std::uint8_t nothing = 0;
  auto* memory = new Array<std::byte>(std::move(bytes));
  const nb::capsule owner = owner_of(memory);
  const std::size_t n = memory->size();
  if (!is_writable)
    return nb::cast(nb::ndarray<nb::numpy, const std::uint8_t, nb::ndim<1>>(
        n ? static_cast<const void*>(memory->data()) : &nothing, {n}, owner));
  void* data = n ? static_cast<void*>(memory->mutate()) : &nothing;
  return nb::cast(nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>(data, {n}, owner));
}

// Read-only arrays in the tensor's memory.
nb::list parts_of(const Tensor& x) {
  nb::list parts;
  for (const Part& p : x.save().parts)
    parts.append(nb::make_tuple(p.name, std::string(name_of(p.dtype)), nb::cast(p.shape),
                                numpy_bytes(p.bytes, false)));
  return parts;
}

}  // namespace

DType dtype_named(const std::string& name) {
  const auto type = dtype_from(name);
  if (!type) fail_usage("unknown dtype \"{}\"", name);
  return *type;
}

Values take_dense(Tensor& x) {
  if (!x.is<Dense>()) return x.to_dense().values;
  Values taken;
  Tensor whole = std::exchange(x, Tensor(Dense{}));
  Tensor::update(std::move(whole), [&](Values& v) { taken = std::exchange(v, {}); });
  return taken;
}

void bind_tensor(nb::module_& m) {
  nb::class_<Tensor>(m, "Tensor")
      .def_prop_ro("layout", [](const Tensor& x) { return x.spec().str(); })
      .def_prop_ro("dtype", [](const Tensor& x) { return std::string(name_of(x.dtype())); })
      .def_prop_ro("shape", [](const Tensor& x) { return nb::tuple(nb::cast(x.shape())); })
      .def_prop_ro("nbytes", [](const Tensor& x) { return x.bytes(); })
      .def("parts", &parts_of)
      .def("dense_bytes",
           [](const Tensor& x) { return numpy_bytes(x.to_dense().values.bytes(), true); })
      .def("take_bytes", [](Tensor& x) { return numpy_bytes(take_dense(x).bytes(), true); });
  m.def("dense_tensor", &dense_tensor);
  m.def("tensor_of_parts", &tensor_of_parts);
}

}  // namespace sten::python
