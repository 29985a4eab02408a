// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/checkpoint/config_dtype.h"

#include "libsten/core/base/json.h"
#include "libsten/files/pytorch/globals.h"

namespace sten {
namespace {

void set_dtypes(nlohmann::ordered_json& config, std::string_view dtype) {
  for (auto& [key, value] : config.items())
    if (value.is_object())
      set_dtypes(value, dtype);
    else if (value.is_string() && (key == "dtype" || key == "torch_dtype"))
      value = dtype;
}

}  // namespace

std::string with_dtype(const std::string& config, DType dtype, const std::string& name) {
  const nlohmann::ordered_json before = parse_json(config, name);
  nlohmann::ordered_json after = before;
  set_dtypes(after, torch_name(dtype));
  return after == before ? config : dump_json(after, 2) + "\n";
}

}  // namespace sten
