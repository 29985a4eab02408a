// SPDX-License-Identifier: Apache-2.0
// Benchmark of training steps of a masked language model (BERT).
#pragma once
#include "libsten/programs/bench/bench_options.h"

namespace sten {

// Rows for each model and number of threads: "dense", and for each layout "masked" with a fixed
// mask, "refreshed" with a new mask in every `refresh`-th step, and "sparse" with weights in the
// layout. Ratios are relative to the dense step. A step is a forward pass with logits at 15 % of
// the tokens (after the last attention only these are computed), the gradients of all weights, and
// AdamW.
//
// Each rank has its own batch; gradients are exchanged during the backward pass. Each row but
// "refreshed" has variants " apart", with the exchange after the backward pass, and " alone",
// without exchange. On a device, the host waits before and after each step.
std::vector<BenchRow> bench_step(const BenchOptions& options);

}  // namespace sten
