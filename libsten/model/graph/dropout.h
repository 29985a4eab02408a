// SPDX-License-Identifier: Apache-2.0
// Dropout nodes of graphs.
#pragma once
#include "libsten/model/graph/graph.h"

namespace sten {

// The input that seeds the masks: an I64, different in each step. Graphs without dropout lack it.
inline constexpr const char* draw_input = "draw";

Index dropout_seed(std::string_view name);

// Adds a node that keeps elements of x with probability 1 - p, scaled by 1 / (1 - p), and the input
// `draw` if missing. Returns the node's name.
std::string add_dropout(GraphParts& g, const std::string& name, const std::string& x, double p);

}  // namespace sten
