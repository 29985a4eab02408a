// Ranks that need no more than the norms of a layer's inputs.
#pragma once
#include <span>

#include "libsten/calibrate/layer.h"
#include "libsten/calibrate/matrix.h"

namespace sten::calibrate {

// sum of x_j^2, [in]: as given, or the diagonal of the Gram matrix.
std::vector<double> squares_of(const InputStatistics& inputs);
// squares: sum of x_j^2, [in]. |w|; |w| |x_j|; and of ria its formula (layer.h).
Matrix magnitude_ranks(const Matrix& w);
Matrix wanda_ranks(const Matrix& w, std::span<const double> squares);
Matrix ria_ranks(const Matrix& w, std::span<const double> squares);

}  // namespace sten::calibrate
