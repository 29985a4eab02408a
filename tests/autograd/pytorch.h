// SPDX-License-Identifier: Apache-2.0
// Reads the files of pytorch_reference.py and compares tensors with them.
#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "libsten/core/base/error.h"
#include "libsten/core/dispatch/attributes.h"
#include "libsten/files/checkpoint/checkpoint.h"

namespace sten::testing {

using Json = nlohmann::json;

// The attributes of an operator from JSON.
inline Attributes attributes_of(const Json& json) {
  Attributes a;
  for (const auto& [key, value] : json.items())
    if (value.is_array())
      a.set(key, value.get<std::vector<Index>>());
    else if (value.is_number_integer())
      a.set(key, value.get<Index>());
    else if (value.is_string())
      a.set(key, value.get<std::string>());
    else
      a.set(key, value.get<double>());
  return a;
}

// One of the reference files in this folder.
class PyTorch {
 public:
  explicit PyTorch(const std::string& what)
      : file_(Checkpoint::open(STEN_SOURCE_DIR "/tests/autograd/" + what + ".safetensors")) {}

  Json metadata(const std::string& key) const {
    for (const auto& [k, v] : file_.shards().front().metadata)
      if (k == key) return Json::parse(v);
    fail("{} has no metadata {}", file_.name(), key);
  }
  Tensor operator[](const std::string& name) const {
    const CheckpointTensor* t = file_.find(name);
    if (!t) fail("{} has no {}", file_.name(), name);
    return file_.load(*t);
  }
  // The names that start with `prefix`, without it.
  std::vector<std::string> names(const std::string& prefix) const {
    std::vector<std::string> v;
    for (const CheckpointTensor& t : file_.tensors())
      if (t.name.starts_with(prefix)) v.push_back(t.name.substr(prefix.size()));
    return v;
  }

 private:
  Checkpoint file_;
};

// Element i of an F32 or F64 tensor.
inline double number(const Dense& x, Index i) {
  return x.dtype() == DType::F64 ? x.values.as<double>()[i] : x.values.as<float>()[i];
}

// "" if `found` has the extents of `wanted` and no element differs by more than `tolerance` * max
// |wanted|, else the difference. `scale` replaces the maximum if `wanted` is 0 except for rounding.
// NaN differs from every value.
inline std::string far_from(const Tensor& wanted, const Tensor& found, double tolerance,
                            double scale = 0) {
  const Dense want = wanted.to_dense(), got = found.to_dense();
  if (got.extents != want.extents)
    return fmt::format("the extents are {}, PyTorch has {}", to_string(got.extents),
                       to_string(want.extents));
  for (Index i = 0; i < want.size(); ++i) scale = std::max(scale, std::abs(number(want, i)));
  for (Index i = 0; i < want.size(); ++i)
    if (!(std::abs(number(got, i) - number(want, i)) <= tolerance * scale))
      return fmt::format("element {} is {}, PyTorch has {}", i, number(got, i), number(want, i));
  return "";
}

}  // namespace sten::testing
