// A tensor of higher rank as the matrix that its layout sees.
#pragma once
#include "libsten/tensor/tensor.h"

namespace sten {

// t as [first extent, all others], sharing its parts; kept with t, so that what is derived from the
// matrix is kept too. t itself where its rank is 2. Unsupported, which is an Error (usage), for a
// layout that is none of the built-in ones, and for one with dims.
const Tensor& as_matrix(const Tensor& t);

}  // namespace sten
