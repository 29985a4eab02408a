// Row-wise device operators, by family.
#pragma once
#include "libsten/core/base/cuda.h"

namespace sten {

class Operators;

void add_device_softmax(Operators& all);    // softmax, log-softmax, layer-norm
void add_device_embedding(Operators& all);  // embedding, gather
void add_device_losses(Operators& all);     // cross-entropy, kl-divergence, mse
void add_device_attention(Operators& all);
void add_device_batch_norm(Operators& all);  // batch-norm, batch-norm-train, batch-moments
void add_device_pools(Operators& all);

// Calls f(the device's functions, stream).
template <class F>
void with_rows_on_device(F&& f) {
  on_cuda([&](const kernels::cuda::Backend& b, kernels::Stream stream) { f(b.rows, stream); });
}

}  // namespace sten
