// SPDX-License-Identifier: Apache-2.0
// The parts of a stored tensor, to read and to forge.
#pragma once
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "libsten/core/registry/route.h"
#include "tests/support/tensors.h"

namespace sten::testing {

inline Part& part(Stored& s, std::string_view name) {
  for (Part& p : s.parts)
    if (p.name == name) return p;
  fail("no part {}", name);
}

template <class T>
std::vector<T> numbers(const Part& p) {
  std::vector<T> v(p.bytes.size() / sizeof(T));
  if (!v.empty()) std::memcpy(v.data(), p.bytes.data(), p.bytes.size());
  return v;
}
template <class T>
std::vector<T> numbers(Stored s, std::string_view name) {
  return numbers<T>(part(s, name));
}

// The bytes of a part as integers, which compare and print well.
inline std::vector<int> bytes_of(const Stored& s, std::string_view name) {
  const auto v = numbers<std::uint8_t>(s, name);
  return {v.begin(), v.end()};
}

template <class T>
Array<std::byte> bytes_from(const std::vector<T>& v) {
  auto bytes = Array<std::byte>::uninitialized(v.size() * sizeof(T));
  if (!v.empty()) std::memcpy(bytes.mutate(), v.data(), bytes.size());
  return bytes;
}

template <class T>
void set_number(Part& p, Index i, T value) {
  std::memcpy(p.bytes.mutate() + i * sizeof(T), &value, sizeof(T));
}

inline bool same_parts(const Stored& a, const Stored& b) {
  if (!(a.layout == b.layout) || a.shape != b.shape || a.dtype != b.dtype ||
      a.parts.size() != b.parts.size())
    return false;
  for (std::size_t i = 0; i < a.parts.size(); ++i) {
    const Part &p = a.parts[i], &q = b.parts[i];
    if (p.name != q.name || p.dtype != q.dtype || p.shape != q.shape ||
        numbers<std::uint8_t>(p) != numbers<std::uint8_t>(q))
      return false;
  }
  return true;
}

// The error when a valid tensor is loaded after a change; put() is a change of one number.
template <class F>
std::string after(const Stored& good, F change) {
  Stored s = good;
  change(s);
  return error_of([&] { registry().load(s); });
}
template <class T>
auto put(const char* name, Index i, T value) {
  return [=](Stored& s) { set_number<T>(part(s, name), i, value); };
}

// By the process's registry.
inline Sparsifier sparsifier(std::string_view spec) {
  return registry().sparsifier(Spec::parse(spec));
}
inline Mask select(const Dense& x, std::string_view spec) { return sparsifier(spec).select(x); }
inline Tensor packed(const Dense& x, const Mask& m, std::string_view spec) {
  return registry().pack(x, m, Spec::parse(spec));
}
inline Tensor packed(const Dense& x, std::string_view spec) {
  return packed(x, nonzero_mask(x), spec);
}

}  // namespace sten::testing
