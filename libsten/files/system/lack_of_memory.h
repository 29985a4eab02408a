// Errors that name the tensor for which memory is lacking.
#pragma once
#include <new>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"

namespace sten {

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
