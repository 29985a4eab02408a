// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/trainer/recovery_state.h"

#include "libsten/core/base/text.h"

namespace sten {
namespace {

constexpr std::string_view value_key = "value";

std::string name_of(std::string_view key, const std::string& weight) {
  return fmt::format("{}{}.{}", before_prefix, key, weight);
}

}  // namespace

std::vector<std::pair<std::string, Tensor>> tensors_before(const RecoveryState& r) {
  std::vector<std::pair<std::string, Tensor>> all;
  if (!r.before) return all;
  all.emplace_back(name_of(value_key, r.before->name), r.before->value);
  for (const auto& [key, s] : r.before->state) all.emplace_back(name_of(key, r.before->name), s);
  return all;
}

void restore_before(std::vector<RecoveryState>& all, const std::string& name, Tensor tensor) {
  const std::size_t dot = name.find('.', before_prefix.size());
  for (RecoveryState& r : all) {
    if (dot == std::string::npos || !r.before || r.before->name != name.substr(dot + 1)) continue;
    const std::string key = name.substr(before_prefix.size(), dot - before_prefix.size());
    if (key == value_key)
      r.before->value = std::move(tensor);
    else
      r.before->state.emplace(key, std::move(tensor));
    return;
  }
  fail("unknown tensor {} in a training state", quote(name));
}

}  // namespace sten
