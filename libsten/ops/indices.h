// Numbers of rows and of classes, as operators get them.
#pragma once
#include <string_view>
#include <vector>

#include "libsten/tensor/dense.h"

namespace sten {

// The elements of I64 or I32; those of a device are waited for. Error (usage) for other dtypes:
// "embedding: ids are F32, not I64 or I32".
std::vector<Index> integers_of(std::string_view op, std::string_view name, const Dense& x);
// "[1, 2]": where element i of a tensor of that shape is.
std::string index_text(Index i, const Shape& shape);

}  // namespace sten
