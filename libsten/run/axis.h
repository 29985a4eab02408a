// Which way n:m and n:m:g run through the weights of a model.
#pragma once
#include "libsten/io/checkpoint.h"

namespace sten {

// Of a layout or sparsifier n:m or n:m:g, where it runs: 0 down columns, 1 along rows; that of the
// spec, or the default. None for other specs.
std::optional<Index> axis_of(const Spec& spec);
// "down columns (axis 0)", "along rows (axis 1)".
std::string axis_text(Index axis);

// By number of a tensor, which matrices are [in, out]: in an ONNX model, as its nodes take them;
// else those of GPT-2's Conv1D, by their names and the shape of c_attn. The model_type in the
// config.json beside `input` has the last word there.
std::vector<bool> in_by_out(const Checkpoint& c, const std::string& input);

// Warns where a default axis meets matrices that are [in, out]: products gain nothing from that.
// specs: of each tensor what it is pruned or converted to.
void warn_about_axis(const Checkpoint& c, const std::string& input,
                     const std::vector<std::optional<Spec>>& specs);

}  // namespace sten
