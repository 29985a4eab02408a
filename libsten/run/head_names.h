// Output heads by their names, where no graph says which layers they are.
#pragma once
#include <memory>
#include <vector>

#include "libsten/io/checkpoint.h"
#include "libsten/run/module_name.h"

namespace sten {

// Whether the name says that the layer is an output head, or belongs to the module of one.
bool has_head_name(const ModuleName& name);

// Of those layers the ones that make outputs, by number in `model`; the others are hidden layers of
// their module. The rule is that of the table in docs/pruning.md. layers: those for which
// has_head_name() holds, by number in `model` and `names`.
std::vector<bool> last_of_heads(const std::vector<const TensorInfo*>& model,
                                const std::vector<std::unique_ptr<ModuleName>>& names,
                                const std::vector<std::size_t>& layers);

}  // namespace sten
