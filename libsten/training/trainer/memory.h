// SPDX-License-Identifier: Apache-2.0
// Estimate of the memory of training.
#pragma once
#include <algorithm>

#include "libsten/training/task/task.h"
#include "libsten/training/task/weight_stages.h"

namespace sten {

// Bytes of the values of a graph.
struct ValueBytes {
  Index all = 0, largest = 0;
  Index passing = 0;  // maximum at a time, if each is freed after its last use
};
// Estimates from the dtypes and shapes of the inputs. A value of unknown shape counts as large as
// the largest input of its node.
ValueBytes value_bytes(const Graph& g, const NamedValues<Tensor>& inputs);

// In bytes.
struct TrainMemory {
  Index weights = 0, optimizer = 0;
  Index gradients = 0;    // and residuals of a compressed exchange
  Index sparsity = 0;     // masks, and scores of sparsifiers that rank by gradients
  Index teacher = 0;      // of a distillation: weights, and values until they are used
  Index values = 0;       // values of a part of a batch, until their gradients
  Index evaluation = 0;   // of evaluation, beyond that
  Index calibration = 0;  // of calibration, beyond that
  Index pooled() const {  // freed blocks in the memory pool, at most
    return in_use() / 2;
  }
  Index in_use() const {
    return weights + gradients + optimizer + sparsity + teacher + values +
           std::max(evaluation, calibration);
  }
  Index total() const { return in_use() + pooled(); }
};

// Estimates the peak of training from shapes, without data and without the memory of any program.
TrainMemory estimate_memory(const Task& task, const std::vector<WeightStages>& stages);

}  // namespace sten
