// What exporters take apart, put together again: each looks for its pattern in the whole draft,
// changes the last of the steps it replaces, and returns how often. What nobody needs any more is
// left to finish().
#pragma once
#include "libsten/onnx/draft.h"

namespace sten {

// How many of the outputs, and of the steps that they need, take each value.
std::vector<Index> uses_of(const Draft& draft);
// Of the steps that outputs need, those of an operator.
Index count_needed(const Draft& draft, std::string_view op);

// x * w + b with a weight w as linear, where w becomes [out, in] in every use.
Index fuse_linear(Draft& draft);

}  // namespace sten
