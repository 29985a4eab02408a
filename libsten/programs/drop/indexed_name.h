// SPDX-License-Identifier: Apache-2.0
// Names of the modules in a list: "model.layers.3.mlp" is module 3 of "model.layers".
#pragma once
#include <optional>
#include <string_view>

#include "libsten/core/base/shape.h"

namespace sten {

struct IndexedName {
  Index index;
  std::string_view rest;  // "mlp"
};

// The parts of LIST.INDEX.REST; none for another name.
std::optional<IndexedName> indexed_name(std::string_view name, std::string_view list);

}  // namespace sten
