// Dropouts of models.
#pragma once
#include "libsten/graph/graph.h"

namespace sten {

// The input that dropouts take their masks from: an I64, another one for each step. Graphs without
// dropout do not have it.
inline constexpr const char* draw_input = "draw";

// Of the dropout of that name: not that of another one.
Index dropout_seed(std::string_view name);

// x where it stays, with probability 1 - p, times 1 / (1 - p). Adds the input where g lacks it.
std::string add_dropout(GraphParts& g, const std::string& name, const std::string& x, double p);

}  // namespace sten
