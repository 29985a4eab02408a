// Where n:m and n:m:g run through the weights of a model.
#pragma once
#include "libsten/dispatch/structure.h"
#include "libsten/io/checkpoint.h"

namespace sten {

// "down columns (axis 0)", "along rows (axis 1)".
std::string axis_text(Index axis);

// By number of a tensor, which matrices are [in, out]: in an ONNX model, as its nodes take them;
// else those of GPT-2's Conv1D, by their names and the shape of c_attn. The model_type in the
// config.json beside `input` has the last word there.
std::vector<bool> in_by_out(const Checkpoint& c, const std::string& input);

// Whether a spec n:m or n:m:g leaves the axis to its default.
bool has_default_axis(const Spec& spec);
// A layout or sparsifier for a matrix: of one that is [in, out] the default axis is that of the same
// layer as [out, in], so tiles have height and width exchanged, too. Other specs stay.
Spec for_matrix(const Spec& spec, bool is_in_by_out);

// For reports, the axes of the layouts or sparsifiers that tensors get, by number of a tensor:
// "nm runs along rows (axis 1)", "nm runs down columns (axis 0) of 48 matrices [in, out]".
std::vector<std::string> axis_notes(const std::vector<std::optional<Spec>>& specs,
                                    const std::vector<bool>& are_in_by_out);

}  // namespace sten
