// SPDX-License-Identifier: Apache-2.0
// Parameter: a weight that is trained.
#pragma once
#include <map>
#include <string>

#include "libsten/core/tensor/tensor.h"

namespace sten {

// A weight and its optimizer's state.
struct Parameter {
  explicit Parameter(Tensor value) : value(std::move(value)) {}
  Parameter(std::string name, Tensor value) : name(std::move(name)), value(std::move(value)) {}

  std::string name;  // in messages and in the names of its state in a checkpoint
  Tensor value;
  // State by the optimizer's names, such as "momentum"; empty before the first step. Dense, in the
  // weight's dtype: in the weight's shape if that is dense or masked, else one element per element
  // of values(). Restore it to continue a training run.
  std::map<std::string, Tensor, std::less<>> state;
};

}  // namespace sten
