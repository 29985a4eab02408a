// SPDX-License-Identifier: Apache-2.0
// Errors that name a file and a tensor.
#pragma once
#include <new>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"

namespace sten {

// Calls f(); its errors start with the file and the tensor.
template <class F>
decltype(auto) with_tensor_name(const std::string& file, const std::string& tensor, F&& f) {
  try {
    return f();
  } catch (const Error& e) {
    throw Error(e.fault(), fmt::format("{}: {}: {}", file, quote(tensor), e.what()));
  }
}

// Calls f(); std::bad_alloc becomes an Error (input) with the file and the tensor.
template <class F>
decltype(auto) or_lack_of_memory(const std::string& file, const std::string& tensor, F&& f) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    fail("{}: {}: out of memory", file, quote(tensor));
  }
}

}  // namespace sten
