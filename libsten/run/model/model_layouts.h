// In which layouts the weights of a model are when it runs.
#pragma once
#include "libsten/graph/fastest_layouts.h"
#include "libsten/report/report.h"
#include "libsten/run/model/model_source.h"

namespace sten {

struct SetLayouts {
  std::vector<std::string> notes;      // sentences about what came of it
  std::vector<LayoutChoice> measured;  // of "auto"
};

// PATTERN=SPEC for the weights that the pattern matches, of which the first rule counts; or "auto":
// every other one in the layout in which these inputs are computed the fastest in that precision, by
// LayoutCache or measured. Error (usage) for a pattern that matches nothing, and where a layout does
// not hold a weight.
SetLayouts set_layouts(const std::vector<std::string>& rules, const NamedValues<Tensor>& inputs,
                       const std::vector<PrecisionRule>& precision, RunnableModel& model);

// "csr 0.52 ms, dense 1.2 ms; measured", or "from the cache".
std::string candidates_of(const LayoutChoice& choice);
// "layouts/WEIGHT/...": the layout, "measured" or "cache", and seconds by layout.
void add_layout_facts(const std::vector<LayoutChoice>& choices, Report& r);

}  // namespace sten
