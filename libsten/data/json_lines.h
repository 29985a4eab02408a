// SPDX-License-Identifier: Apache-2.0
// Reading of JSON Lines: a JSON document per line.
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "libsten/core/base/json.h"
#include "libsten/core/base/shape.h"

namespace sten {

// Calls take(line, document) for each line that is not blank; lines count from 1. Error (input)
// that starts with "NAME: line N" for a line that is not JSON.
void each_json_line(std::string_view text, const std::string& name,
                    const std::function<void(Index, const nlohmann::ordered_json&)>& take);

}  // namespace sten
