// SPDX-License-Identifier: Apache-2.0
// Heads by name, for models without a graph.
#pragma once
#include <memory>
#include <vector>

#include "libsten/files/checkpoint/checkpoint.h"
#include "libsten/programs/rewrite/module_name.h"

namespace sten {

// Whether the name belongs to a head or to a layer of a head's module.
bool has_head_name(const ModuleName& name);

// Returns for each layer whether it makes an output; the other layers of a head's module are
// hidden. The rule is a table in docs/pruning.md. `layers`: indices into `model` and `names` of the
// layers with has_head_name().
std::vector<bool> last_of_heads(const std::vector<const TensorInfo*>& model,
                                const std::vector<std::unique_ptr<ModuleName>>& names,
                                const std::vector<std::size_t>& layers);

}  // namespace sten
