// What training takes.
#pragma once
#include <algorithm>

#include "libsten/train/task.h"
#include "libsten/train/weight_stages.h"

namespace sten {

// Of the values that a graph computes, in bytes.
struct ValueBytes {
  Index all = 0, largest = 0;
  Index passing = 0;  // at most at a time, where each is let go after its last use
};
// From the dtypes and shapes of the inputs, and what is known of the rest before it runs. A value of
// which nothing is known is taken to be as large as the largest input of its node.
ValueBytes value_bytes(const Graph& g, const NamedValues<Tensor>& inputs);

// In bytes.
struct TrainMemory {
  Index weights = 0, gradients = 0, optimizer = 0;
  Index sparsity = 0;     // masks, and the scores of those that rank by gradients
  Index teacher = 0;      // of a distillation: its weights, and values until they are passed on
  Index values = 0;       // what the operators compute for a part of a batch, until its gradients
  Index evaluation = 0;   // what the same without gradients takes beyond that
  Index calibration = 0;  // and what calibration does
  Index pooled() const {  // freed blocks that wait for the next values of their size, at most
    return in_use() / 2;
  }
  Index in_use() const {
    return weights + gradients + optimizer + sparsity + teacher + values +
           std::max(evaluation, calibration);
  }
  Index total() const { return in_use() + pooled(); }
};

// Of the largest moment, from shapes alone; nothing is computed. Without the data, and without what
// programs take anyway.
TrainMemory estimate_memory(const Task& task, const std::vector<WeightStages>& stages);

}  // namespace sten
