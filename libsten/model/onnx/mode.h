// SPDX-License-Identifier: Apache-2.0
// The use of an imported model.
#pragma once

namespace sten {

// Decides batch norms and dropouts.
enum class OnnxMode {
  exported,    // as the file says; dropouts of training are refused
  evaluation,  // running statistics and no dropouts, also in files exported in training mode
  training,    // the same, but dropouts of training are dropouts, whose input `draw` is added
};

}  // namespace sten
