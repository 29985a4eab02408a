// SPDX-License-Identifier: Apache-2.0
// Devices of a tensor's values: the CPU or a CUDA device.
#pragma once
#include <cstdint>
#include <string_view>

namespace sten {

enum class Device : std::uint8_t { cpu, cuda };

constexpr std::string_view name_of(Device d) { return d == Device::cpu ? "cpu" : "cuda"; }

}  // namespace sten
