// Lack of memory, said with the tensor that there is none for.
#pragma once
#include <new>

#include "libsten/base/error.h"
#include "libsten/base/text.h"

namespace sten {

// f(); std::bad_alloc becomes an Error (input) that names the file and the tensor.
template <class F>
decltype(auto) or_lack_of_memory(const std::string& file, const std::string& tensor, F&& f) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    fail("{}: {}: out of memory", file, quote(tensor));
  }
}

}  // namespace sten
