// SPDX-License-Identifier: Apache-2.0
// The dtype of the weights in a Hugging Face config.json.
#pragma once
#include <string>

#include "libsten/core/base/dtype.h"

namespace sten {

// Returns the text of a config.json with `dtype` in the members "dtype" and "torch_dtype" that it
// has, also in those of parts of the model; the same text if they have it already. `name` starts
// messages. Error if the text is not JSON.
std::string with_dtype(const std::string& config, DType dtype, const std::string& name);

}  // namespace sten
