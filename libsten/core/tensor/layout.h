// SPDX-License-Identifier: Apache-2.0
// The concept of a layout: a plain struct that names its fields once and converts to and from
// dense.
//
//   struct Csr {
//     static constexpr const char* name = "csr";
//     ...fields...
//     static void parts(auto& self, auto&& f);   // names every field, see below
//     Shape shape() const;
//     Dense to_dense() const;
//     static Csr pack(const Dense& x, const Mask& keep, const Spec& spec);  // exactly, or Error
//   };
//
// There is no base class. Optional members:
//   void loaded();                     completes and checks fields read from a file, or Error
//   Mask stored() const;               stored positions; default: nonzero bits of to_dense()
//   static constexpr SpecDoc doc       of a built-in layout: its parts, for docs/formats.md
//   static constexpr bool has_fillers  stored positions may be fillers, which were not kept
//   static constexpr bool holds_any_pattern  stores any positions of a matrix, with any parameters
//   double padding() const;            padded elements / elements; default 0
//   static void check(const Spec&);    Error for a spec that can never be packed
//   static std::optional<Index> bytes(const Spec&, const Occupancy&)
//                                      bytes of all parts, computed without packing; no value if
//                                      pack() would fail. The spec has no dims. Default: pack()
//   static constexpr const char* own_sparsifier
//                                      registered name of the sparsifier that selects positions it
//                                      can hold, with the layout's keys. Programs prune to
//                                      the layout by it. Without holds_any_pattern the layout is a
//                                      structure: pack() accepts subsets of its selections, and
//                                      bytes() is called for such positions only
//   static bool includes(const Spec&, const Spec& other)
//                                      of a structure: whether it can hold all positions that
//                                      `other`, a spec of a layout with an own_sparsifier, can
//                                      hold; default: equal specs
// Support of arrays on a device (default: falls back to the CPU):
//   bool unpacks_on_device() const;    to_dense()
//   bool stored_on_device() const;     stored()
//   static bool packs_on_device(const Shape&, const Spec&);    pack()
//
// parts() calls f(key, field[, more]) for each field, parameters first:
//   f("shape", Shape&)                 the tensor's extents (one such field)
//   f("n", Index&)                     a parameter, written in the spec
//   f("axis", Index&, Index dflt)      a parameter that the spec omits if it has its default
//   f("dims", Dims&)                   the same, omitted if not given
//   f("values", Values&[, Shape])      stored elements, with the part's shape (default: 1-D)
//   f("index", Array<T>&[, Shape])     stored integers
//   f("mask", optional<Array<T>>&...)  a part that files may lack, also of Values
// An extent any_extent in the Shape accepts every extent on reading. The part "values", else the
// first part, has the tensor's dtype.
#pragma once
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/core/tensor/dense.h"
#include "libsten/core/tensor/matrix_view.h"

namespace sten {

template <class T>
concept Named = requires {
  std::string_view(T::name);
};

// Named comes first so that Tensor is ruled out before its own constructors are considered.
template <class L>
concept Layout = Named<L> && requires(const L& l, const Dense& x, const Mask& m, const Spec& s) {
  { l.shape() } -> std::convertible_to<Shape>;
  { l.to_dense() } -> std::same_as<Dense>;
  { L::pack(x, m, s) } -> std::same_as<L>;
  L::parts(l, [](std::string_view, const auto&, auto&&...) {});
} && std::copyable<L> && std::default_initializable<L>;

inline constexpr Index any_extent = -1;

struct Part {
  std::string name;
  DType dtype = DType::F32;
  Shape shape;
  Array<std::byte> bytes;
};

// A tensor in any layout as names and bytes, for files, device copies and comparisons.
struct Stored {
  Spec layout;
  Shape shape;
  DType dtype = DType::F32;
  std::vector<Part> parts;
};

namespace parts_detail {

struct Writer {
  Stored& out;
  void operator()(std::string_view, const Shape& extents) { out.shape = extents; }
  void operator()(std::string_view key, Index v) { out.layout.set(key, v); }
  void operator()(std::string_view key, Index v, Index fallback) {
    if (v != fallback) out.layout.set(key, v);
  }
  void operator()(std::string_view key, const Dims& d) {
    if (d.given()) out.layout.set(key, d.str());
  }
  void operator()(std::string_view key, const Values& v) { (*this)(key, v, Shape{v.size()}); }
  void operator()(std::string_view key, const Values& v, Shape shape) {
    add(key, v.dtype(), std::move(shape), v.bytes());
  }
  template <class T>
  void operator()(std::string_view key, const Array<T>& v) {
    (*this)(key, v, Shape{static_cast<Index>(v.size())});
  }
  template <class T>
  void operator()(std::string_view key, const Array<T>& v, Shape shape) {
    add(key, dtype_for<T>(), std::move(shape), v.bytes());
  }
  template <class T, class... More>
  void operator()(std::string_view key, const std::optional<T>& v, More&&... shape) {
    if (v) (*this)(key, *v, std::forward<More>(shape)...);
  }
  void add(std::string_view key, DType dtype, Shape shape, Array<std::byte> bytes) {
    if (key == "values" || out.parts.empty()) out.dtype = dtype;
    out.parts.push_back({std::string(key), dtype, std::move(shape), std::move(bytes)});
  }
};

// Writes the parameters of the spec only.
struct SpecWriter {
  Spec& out;
  void operator()(std::string_view key, Index v) { out.set(key, v); }
  void operator()(std::string_view key, Index v, Index fallback) {
    if (v != fallback) out.set(key, v);
  }
  void operator()(std::string_view key, const Dims& d) {
    if (d.given()) out.set(key, d.str());
  }
  void operator()(std::string_view, const auto&, auto&&...) {}
};

class Reader {
 public:
  explicit Reader(const Stored& in) : in_(in) {}

  void operator()(std::string_view, Shape& extents) { extents = in_.shape; }
  void operator()(std::string_view key, Index& v) { v = in_.layout.integer(key); }
  void operator()(std::string_view key, Index& v, Index fallback) {
    v = in_.layout.integer(key, fallback);
  }
  void operator()(std::string_view key, Dims& d) {
    if (in_.layout.has(key)) d = Dims::parse(in_.layout.word(key, ""));
  }
  void operator()(std::string_view key, Values& v) { read(find_vector(key), v); }
  void operator()(std::string_view key, Values& v, const Shape& shape) {
    read(find(key, shape), v);
  }
  template <class T>
  void operator()(std::string_view key, Array<T>& v) {
    read(find_vector(key), v);
  }
  template <class T>
  void operator()(std::string_view key, Array<T>& v, const Shape& shape) {
    read(find(key, shape), v);
  }
  template <class T, class... More>
  void operator()(std::string_view key, std::optional<T>& v, const More&... shape) {
    v.reset();
    if (has(key)) (*this)(key, v.emplace(), shape...);
  }
  // Error for a part that was not read, or whose dtype is not the tensor's.
  void finish() const;

 private:
  bool has(std::string_view key) const;
  // Error unless the part has as many bytes as its shape and dtype need.
  const Part& find(std::string_view key);
  const Part& find(std::string_view key, const Shape& shape);
  const Part& find_vector(std::string_view key);  // 1-D, of any length
  static void read(const Part& p, Values& v);
  template <class T>
  static void read(const Part& p, Array<T>& v) {
    if (p.dtype != dtype_for<T>())
      fail("part {} is {}, expected {}", quote(p.name), name_of(p.dtype), name_of(dtype_for<T>()));
    v = Array<T>::borrow(std::make_shared<Array<std::byte>>(p.bytes),
                         reinterpret_cast<const T*>(p.bytes.data()), p.bytes.size() / sizeof(T));
  }

  const Stored& in_;
  std::vector<std::string> seen_;
};

// Reads the parameters of a spec into a default-constructed layout; the parts stay empty.
struct ParameterReader {
  const Shape& shape;
  const Spec& spec;
  void operator()(std::string_view, Shape& extents) { extents = shape; }
  void operator()(std::string_view key, Index& v) { v = spec.integer(key); }
  void operator()(std::string_view key, Index& v, Index fallback) {
    v = spec.integer(key, fallback);
  }
  void operator()(std::string_view key, Dims& d) {
    if (spec.has(key)) d = Dims::parse(spec.word(key, ""));
  }
  void operator()(std::string_view, auto&, auto&&...) {}
};

// Lists the parameters and parts of a default-constructed layout.
struct KeyLister {
  std::vector<std::string>& keys;
  std::vector<std::string>& names;
  std::vector<std::string>& optional;  // the names of the optional parts
  void operator()(std::string_view key, Index&) { keys.emplace_back(key); }
  void operator()(std::string_view key, Index&, Index) { keys.emplace_back(key); }
  void operator()(std::string_view key, Dims&) { keys.emplace_back(key); }
  void operator()(std::string_view, Shape& extents) { extents = {0, 0}; }
  template <class T>
  void operator()(std::string_view key, std::optional<T>&, auto&&...) {
    names.emplace_back(key);
    optional.emplace_back(key);
  }
  void operator()(std::string_view key, auto&, auto&&...) { names.emplace_back(key); }
};

struct DeviceReader {
  Device device = Device::cpu;
  void operator()(std::string_view, const Values& v, auto&&...) { see(v.device()); }
  template <class T>
  void operator()(std::string_view, const Array<T>& v, auto&&...) {
    see(v.device());
  }
  template <class T>
  void operator()(std::string_view key, const std::optional<T>& v, auto&&...) {
    if (v) (*this)(key, *v);
  }
  void operator()(std::string_view, const auto&, auto&&...) {}
  void see(Device d) {
    if (d != Device::cpu) device = d;
  }
};
struct Mover {
  Device device;
  void operator()(std::string_view, Values& v, auto&&...) { v = v.to(device); }
  template <class T>
  void operator()(std::string_view, Array<T>& v, auto&&...) {
    v = v.to(device);
  }
  template <class T>
  void operator()(std::string_view key, std::optional<T>& v, auto&&...) {
    if (v) (*this)(key, *v);
  }
  void operator()(std::string_view, auto&, auto&&...) {}
};

}  // namespace parts_detail

// The device of the arrays, which are all on one device.
template <class L>
Device device_of(const L& l) {
  parts_detail::DeviceReader reader;
  L::parts(l, reader);
  return reader.device;
}

// A copy whose arrays are on `device`; shares arrays that are on it already.
template <class L>
L move_to(L l, Device device) {
  L::parts(l, parts_detail::Mover{device});
  return l;
}

// A layout of this shape with the parameters of the spec and empty parts, for pack().
template <class L>
L with_parameters(const Shape& shape, const Spec& spec) {
  L l;
  L::parts(l, parts_detail::ParameterReader{shape, spec});
  return l;
}

// The parts of a layout; shares its memory.
template <Layout L>
Stored save(const L& l) {
  Stored out{.layout = Spec(L::name), .shape = {}, .dtype = DType::F32, .parts = {}};
  L::parts(l, parts_detail::Writer{out});
  return out;
}

// The inverse of save(). Shares the memory of `in`, whose parts must be aligned for their dtype.
// Error for a missing or extra part, and for a wrong dtype, shape or content.
template <Layout L>
L load(const Stored& in) {
  L l;
  parts_detail::Reader reader(in);
  L::parts(l, reader);
  reader.finish();
  if constexpr (requires { l.loaded(); }) l.loaded();
  return l;
}

}  // namespace sten
