// Files that are often found under the name of a safetensors file.
#pragma once
#include <cstddef>
#include <span>
#include <string_view>

namespace sten {

// "an HTML or XML page, ...": what a file that is not safetensors is instead; "" if it cannot be
// told. Never names a file that is safetensors, whole or truncated.
std::string_view foreign_kind(std::span<const std::byte> file);
// Whether it begins as the ONNX models do that exporters write: with the IR version.
bool is_onnx(std::span<const std::byte> file);
// Whether it is NumPy's archive of several arrays.
bool is_npz(std::span<const std::byte> file);

}  // namespace sten
