// SPDX-License-Identifier: Apache-2.0
// The Python globals that a pickle of tensors may name.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "libsten/core/base/dtype.h"

namespace sten {

enum class TorchGlobal : std::uint8_t {
  dict,             // a call makes a dict
  tensor,           // (storage, offset, shape, strides, ...)
  tensor_of_dtype,  // the same, with the dtype two arguments later; its storage is bytes
  parameter,        // (tensor, ...)
  typed_tensor,     // (function, type, its arguments, state)
  storage,          // a class with a dtype
  bytes,            // the storage class without a dtype
  dtype,            // torch.float32
  type,             // of a tensor
  ignored,          // makes values without tensors, which are ignored
};

struct KnownGlobal {
  TorchGlobal what = TorchGlobal::ignored;
  std::optional<DType> dtype;
};

// None for an unknown global.
std::optional<KnownGlobal> known_global(std::string_view module, std::string_view name);

// The name of a dtype in torch, such as "bfloat16"; "" if it has none.
std::string_view torch_name(DType dtype);

}  // namespace sten
