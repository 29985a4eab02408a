// SPDX-License-Identifier: Apache-2.0
// DeviceSpec: a device as options name it.
#pragma once
#include <optional>
#include <string>

#include "libsten/core/base/device.h"

namespace sten {

// "cpu", "cuda" or "cuda:1".
struct DeviceSpec {
  Device type = Device::cpu;
  std::optional<std::int64_t> index{};  // of a CUDA device, from 0; none: any

  // Error (usage) for another text.
  static DeviceSpec parse(std::string_view text);
  bool is_cpu() const { return type == Device::cpu; }
  std::string str() const;
};

}  // namespace sten
