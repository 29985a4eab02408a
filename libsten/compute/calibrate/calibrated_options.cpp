// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/calibrate/calibrated_options.h"

#include <algorithm>
#include <array>
#include <vector>

#include "libsten/core/base/error.h"
#include "libsten/core/base/hints.h"

namespace sten {

namespace {

constexpr std::array methods = {"magnitude", "wanda", "ria", "sparsegpt", "admm"};

}  // namespace

void check_method(const std::string& method) {
  const std::vector<std::string> known(methods.begin(), methods.end());
  if (std::ranges::find(known, method) == known.end())
    fail_usage("{}", unknown_name("method", method, known));
}

bool computes_values(const std::string& method, bool reconstruct) {
  return reconstruct || method == "sparsegpt" || method == "admm";
}

bool computes_values(const CalibratedOptions& o) {
  return computes_values(o.method, o.reconstruct);
}

CalibratedOptions without_inputs(CalibratedOptions o) {
  o.method = "magnitude";
  o.reconstruct = o.by_row = false;
  return o;
}

}  // namespace sten
