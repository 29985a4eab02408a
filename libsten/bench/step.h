// Times of training steps of a BERT for masked-language models.
#pragma once
#include "libsten/bench/bench.h"

namespace sten {

// Rows for each model and number of threads: "dense", and for each layout "masked", its mask being
// fixed; "refreshed", the mask being selected anew in every `refresh`-th step; and "sparse",
// weights in the layout itself. Ratios are those to the dense step. A step is a forward pass,
// logits at 15 % of the tokens (and what follows the last attention), the gradients of all weights,
// and AdamW. Of several ranks each computes its own batch, and gradients are summed while others are
// computed; beside each row but "refreshed" there are " apart", where they are summed after the
// backward pass, and " alone", where nothing is. On a device a step begins and ends with the host's
// waiting for it.
std::vector<BenchRow> bench_step(const BenchOptions& options);

}  // namespace sten
