// SPDX-License-Identifier: Apache-2.0
// Options of sten-prune that decide how a tensor is pruned, unless a rule does.
#pragma once
#include <optional>

#include "libsten/core/base/named_enum.h"
#include "libsten/core/base/spec.h"

namespace sten {

enum class PruneMethod {
  magnitude,
  random,
  threshold,
  movement,
  l0,
  gradient,
  wanda,  // this and the following: with calibration (compute/calibrate/layer.h)
  ria,
  sparsegpt,
  admm
};
inline const std::vector<std::string>& names_of(PruneMethod) {
  static const std::vector<std::string> names = {"magnitude", "random",   "threshold", "movement",
                                                 "l0",        "gradient", "wanda",     "ria",
                                                 "sparsegpt", "admm"};
  return names;
}

enum class PruneScope { local, row, global };  // of a sparsity: per tensor, per row or over all
inline const std::vector<std::string>& names_of(PruneScope) {
  static const std::vector<std::string> names = {"local", "row", "global"};
  return names;
}

enum class Nan { error, keep, zero };
inline const std::vector<std::string>& names_of(Nan) {
  static const std::vector<std::string> names = {"error", "keep", "zero"};
  return names;
}

struct TensorOptions {
  std::optional<double> sparsity;  // fraction of zeros, [0, 1]
  PruneMethod method = PruneMethod::magnitude;
  std::optional<double> at;         // of method threshold
  std::optional<PruneScope> scope;  // default: row for wanda, else local
  Spec structure{"unstructured"};   // or block, nm, nmg or nmgv
  Spec to{"dense"};                 // a layout, or "auto"
  bool reconstruct = false;         // solve kept values again by least squares
  Nan nan = Nan::error;
  std::uint64_t seed = 0;  // of method random

  bool is_calibrated() const { return reconstruct || method >= PruneMethod::wanda; }
};

}  // namespace sten
