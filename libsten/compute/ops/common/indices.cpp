// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/ops/common/indices.h"

#include "libsten/core/base/error.h"

namespace sten {

std::vector<Index> integers_of(std::string_view op, std::string_view name, const Dense& x) {
  if (x.device() != Device::cpu) return integers_of(op, name, x.to(Device::cpu));
  if (x.dtype() == DType::I64) {
    const auto v = x.values.as<std::int64_t>();
    return {v.begin(), v.end()};
  }
  if (x.dtype() == DType::I32) {
    const auto v = x.values.as<std::int32_t>();
    return {v.begin(), v.end()};
  }
  fail_usage("{}: {} must be I64 or I32, got {}", op, name, sten::name_of(x.dtype()));
}

std::string index_text(Index i, const Shape& shape) {
  Shape at(shape.size());
  for (std::size_t d = shape.size(); d-- > 0;) {
    at[d] = i % shape[d];
    i /= shape[d];
  }
  return to_string(at);
}

}  // namespace sten
