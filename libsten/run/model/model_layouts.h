// In which layouts the weights of a model are when it runs.
#pragma once
#include "libsten/run/model/model_source.h"

namespace sten {

// PATTERN=SPEC for the weights that the pattern matches, of which the first rule counts; or "auto":
// each in the layout in which these inputs are computed the fastest. Lines that say what came of it.
// Error (usage) for a pattern that matches nothing, and where a layout does not hold a weight.
std::vector<std::string> set_layouts(const std::vector<std::string>& rules,
                                     const NamedValues<Tensor>& inputs, RunnableModel& model);

}  // namespace sten
