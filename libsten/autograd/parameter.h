// A weight that is trained.
#pragma once
#include <map>
#include <string>

#include "libsten/tensor/tensor.h"

namespace sten {

// A weight and its optimizer's state.
struct Parameter {
  explicit Parameter(Tensor value) : value(std::move(value)) {}
  Parameter(std::string name, Tensor value) : name(std::move(name)), value(std::move(value)) {}

  std::string name;  // for messages, and for the names of its state in a checkpoint
  Tensor value;
  // By the optimizer's names, such as "momentum"; empty before the first step. Dense, in the
  // weight's dtype: of its shape where the weight is dense or masked, else one number for each of
  // its values() in their order. To go on where training stopped, put back what was here.
  std::map<std::string, Tensor, std::less<>> state;
};

}  // namespace sten
