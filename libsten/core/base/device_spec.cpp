// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/base/device_spec.h"

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"

namespace sten {

DeviceSpec DeviceSpec::parse(std::string_view text) {
  if (text == "cpu") return {};
  if (text == "cuda") return {Device::cuda};
  std::int64_t index = 0;
  if (text.starts_with("cuda:") && parse_integer(text.substr(5), index) && index >= 0)
    return {Device::cuda, index};
  fail_usage("--device {}: expected cpu, cuda or cuda:N{}", quote(text),
             text.starts_with("gpu") || text.starts_with("GPU")
                 ? ", did you mean 'cuda'?"
                 : suggestion(text, {"cpu", "cuda"}));
}

std::string DeviceSpec::str() const {
  return index ? fmt::format("{}:{}", name_of(type), *index) : std::string(name_of(type));
}

}  // namespace sten
