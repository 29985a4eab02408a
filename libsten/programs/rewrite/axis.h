// SPDX-License-Identifier: Apache-2.0
// The axis of n:m and n:m:g in the weights of a model.
#pragma once
#include "libsten/core/registry/structure.h"
#include "libsten/files/checkpoint/checkpoint.h"

namespace sten {

// Text for reports: "down columns (axis 0)", "along rows (axis 1)".
std::string axis_text(Index axis);

// Tells for each tensor whether the tensor is a matrix stored as [in, out]. The nodes of an ONNX
// model decide; in other checkpoints, the names of GPT-2's Conv1D and the shape of c_attn. A
// model_type in the config.json beside `input` overrides names and shape.
std::vector<bool> in_by_out(const Checkpoint& c, const std::string& input);

// Whether a spec n:m or n:m:g has no axis parameter.
bool has_default_axis(const Spec& spec);
// Returns the layout or sparsifier for a matrix. For an [in, out] matrix, the default axis is the
// one of the same layer stored as [out, in], and tiles exchange height and width. Other specs are
// returned unchanged.
Spec for_matrix(const Spec& spec, bool is_in_by_out);

// Notes on the axes of the specs of tensors, for reports: "nm runs along rows (axis 1)", "nm runs
// down columns (axis 0) of 48 matrices [in, out]". `specs` and `in_by_out` have an entry per
// tensor.
std::vector<std::string> axis_notes(const std::vector<std::optional<Spec>>& specs,
                                    const std::vector<bool>& are_in_by_out);

}  // namespace sten
