// The names that a pickle of tensors may mention.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "libsten/base/dtype.h"

namespace sten {

enum class TorchGlobal : std::uint8_t {
  dict,             // called: a dict
  tensor,           // (storage, offset, shape, strides, ...)
  tensor_of_dtype,  // the same with the dtype behind two more; its storage is bytes
  parameter,        // (tensor, ...)
  typed_tensor,     // (function, type, its arguments, state)
  storage,          // a class with a dtype
  bytes,            // the storage class without one
  dtype,            // torch.float32
  type,             // of a tensor
  ignored,          // makes values that are not tensors; what it makes is not looked at
};

struct KnownGlobal {
  TorchGlobal what = TorchGlobal::ignored;
  std::optional<DType> dtype;
};

// Nothing where it is none of them.
std::optional<KnownGlobal> known_global(std::string_view module, std::string_view name);

}  // namespace sten
