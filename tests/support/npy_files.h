// SPDX-License-Identifier: Apache-2.0
// .npy files as text, and the errors for refused files.
#pragma once
#include <string>
#include <string_view>

#include "libsten/core/base/error.h"
#include "libsten/files/tensors/npy.h"
#include "tests/support/safetensors_bytes.h"
#include "tests/support/tensors.h"

namespace sten::testing {

// The error message; "" if the file is accepted.
inline std::string npy_error(const std::string& file) {
  return error_of(Fault::input, [&] { parse_npy(as_bytes(file), "in.npy"); });
}

// A file with `dict` as its header, without padding.
inline std::string npy(std::string_view dict, std::string_view data = "", int major = 1) {
  std::string file = std::string("\x93NUMPY") + static_cast<char>(major) + '\0';
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i)
    file += static_cast<char>(dict.size() >> 8 * i & 0xff);
  return file.append(dict).append(data);
}
inline std::string dict(std::string_view descr, std::string_view order, std::string_view shape) {
  return fmt::format("{{'descr': {}, 'fortran_order': {}, 'shape': {}, }}", descr, order, shape);
}
inline std::string padded(std::string text, std::size_t size) {
  text.resize(size, ' ');
  return text;
}
inline std::string of_dtype(std::string_view descr, std::string_view data = "") {
  return npy(dict(descr, "False", "(1,)"), data);
}
inline std::string of_shape(std::string_view shape, std::string_view data = "") {
  return npy(dict("'|u1'", "False", shape), data);
}

}  // namespace sten::testing
