// SPDX-License-Identifier: Apache-2.0
// Precision of the nodes of a model.
#pragma once
#include "libsten/model/execution/executor.h"
#include "libsten/report/report.h"

namespace sten {

// Parses rules: "bf16" and "float32" for all nodes, PATTERN=bf16 and PATTERN=float32 for nodes by
// name; the first match counts. Error (usage) for other rules, and for a pattern without a match.
// `model` is printable.
std::vector<PrecisionRule> read_precision(const std::vector<std::string>& rules, const Graph& g,
                                          const std::string& model);
// Adds the fact "precision" with the rules; no-op without rules.
void add_precision_facts(const std::vector<std::string>& rules, Report& r);

}  // namespace sten
