// In which precision the nodes of a model run.
#pragma once
#include "libsten/graph/executor.h"
#include "libsten/report/report.h"

namespace sten {

// Of rules "bf16" and "float32", for all nodes, and PATTERN=bf16 and PATTERN=float32, for those whose
// names it matches; the first match counts. Error (usage) for others, and for a pattern that matches no
// node; `model` is printable.
std::vector<PrecisionRule> read_precision(const std::vector<std::string>& rules, const Graph& g,
                                          const std::string& model);
// "precision": the rules; nothing where there are none.
void add_precision_facts(const std::vector<std::string>& rules, Report& r);

}  // namespace sten
