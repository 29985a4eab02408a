// SPDX-License-Identifier: Apache-2.0
// Detection of files that are often named like safetensors files.
#pragma once
#include <cstddef>
#include <span>
#include <string_view>

namespace sten {

// The kind of a file that is not safetensors: "an HTML or XML page, ..."; "" if unknown. Never
// misjudges a safetensors file, even a truncated one.
std::string_view foreign_kind(std::span<const std::byte> file);
// Whether the file starts with the IR version, as exported ONNX models do.
bool is_onnx(std::span<const std::byte> file);
// Whether the file is a NumPy archive of several arrays.
bool is_npz(std::span<const std::byte> file);

}  // namespace sten
