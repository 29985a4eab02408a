// SPDX-License-Identifier: Apache-2.0
// Replacement without oneDNN, if it was not found at build time.
#include "libsten/compute/linalg/onednn_convolution.h"

namespace sten {

std::shared_ptr<const OnednnConvolution> OnednnConvolution::find(ConvolutionPart,
                                                                 const Convolution&, bool, int) {
  return nullptr;
}

}  // namespace sten
