// SPDX-License-Identifier: Apache-2.0
// ONNX models as bytes, valid or not. Field numbers are those of onnx.proto.
#pragma once
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace sten::testing::onnx {

inline std::string varint(std::uint64_t v) {
  std::string out;
  for (; v >= 0x80; v >>= 7) out += static_cast<char>((v & 0x7f) | 0x80);
  return out + static_cast<char>(v);
}
inline std::string tag(int field, int type) {
  return varint(static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint64_t>(type));
}
inline std::string number(int field, std::int64_t v) {
  return tag(field, 0) + varint(static_cast<std::uint64_t>(v));
}
inline std::string bytes(int field, std::string_view v) {
  return tag(field, 2) + varint(v.size()) + std::string(v);
}
// The bytes of values, as in raw_data and in packed fields of fixed width.
template <class T>
std::string raw(std::initializer_list<T> values) {
  std::string out;
  for (const T v : values) {
    char b[sizeof(T)];
    std::memcpy(b, &v, sizeof(T));
    out.append(b, sizeof(T));
  }
  return out;
}
inline std::string packed(std::initializer_list<std::int64_t> values) {
  std::string out;
  for (const std::int64_t v : values) out += varint(static_cast<std::uint64_t>(v));
  return out;
}

// A TensorProto without its elements: raw_data is 9, float_data 4, int32_data 5, int64_data 7.
inline std::string tensor(std::string_view name, int type, std::initializer_list<std::int64_t> dims,
                          const std::string& elements) {
  return bytes(1, packed(dims)) + number(2, type) + bytes(8, name) + elements;
}
inline std::string external(std::string_view location, std::string_view offset = "",
                            std::string_view length = "") {
  const auto entry = [](std::string_view key, std::string_view value) {
    return value.empty() ? std::string() : bytes(13, bytes(1, key) + bytes(2, value));
  };
  return entry("location", location) + entry("offset", offset) + entry("length", length) +
         number(14, 1);
}
inline std::string node(std::string_view op, std::string_view name,
                        std::initializer_list<std::string_view> inputs,
                        std::initializer_list<std::string_view> outputs,
                        const std::string& attributes = "") {
  std::string out;
  for (const std::string_view i : inputs) out += bytes(1, i);
  for (const std::string_view o : outputs) out += bytes(2, o);
  return out + bytes(3, name) + bytes(4, op) + attributes;
}
// Field 5 of a NodeProto.
inline std::string integer_attribute(std::string_view name, std::int64_t v) {
  return bytes(5, bytes(1, name) + number(3, v) + number(20, 2));
}
inline std::string tensor_attribute(std::string_view name, const std::string& t) {
  return bytes(5, bytes(1, name) + bytes(5, t) + number(20, 4));
}
inline std::string integers_attribute(std::string_view name,
                                      std::initializer_list<std::int64_t> all) {
  std::string list;
  for (const std::int64_t v : all) list += number(8, v);
  return bytes(5, bytes(1, name) + list + number(20, 7));
}
// A ValueInfoProto; extents are integers or symbols.
inline std::string value(std::string_view name, int type, const std::vector<std::string>& extents) {
  std::string shape;
  for (const std::string& e : extents) {
    const bool is_number = !e.empty() && e.find_first_not_of("0123456789") == std::string::npos;
    shape += bytes(1, is_number ? number(1, std::stoll(e)) : bytes(2, e));
  }
  return bytes(1, name) + bytes(2, bytes(1, number(1, type) + bytes(2, shape)));
}
// The inputs of a GraphProto.
inline std::string inputs(const std::vector<std::string>& values) {
  std::string out;
  for (const std::string& v : values) out += bytes(11, v);
  return out;
}
inline std::string outputs(const std::vector<std::string>& values) {
  std::string out;
  for (const std::string& v : values) out += bytes(12, v);
  return out;
}
inline std::string graph(const std::vector<std::string>& nodes,
                         const std::vector<std::string>& initializers) {
  std::string out;
  for (const std::string& n : nodes) out += bytes(1, n);
  out += bytes(2, "graph");
  for (const std::string& t : initializers) out += bytes(5, t);
  return out;
}
inline std::string model(const std::string& graph) {
  return number(1, 8) + bytes(2, "sten") + bytes(7, graph) + bytes(8, number(2, 17));
}

}  // namespace sten::testing::onnx
