// What training takes.
#pragma once
#include "libsten/train/sparsity_plan.h"
#include "libsten/train/task.h"

namespace sten {

// In bytes.
struct TrainMemory {
  Index weights = 0, gradients = 0, optimizer = 0;
  Index sparsity = 0;    // masks, and the scores of those that rank by gradients
  Index values = 0;      // what the operators compute for a part of a batch, until its gradients
  Index evaluation = 0;  // the same without gradients; freed blocks are kept, so that it adds up
  Index total() const { return weights + gradients + optimizer + sparsity + values + evaluation; }
};

// Of the largest moment, from shapes alone; nothing is computed. Without the data, and without what
// programs take anyway.
TrainMemory estimate_memory(const Task& task, const std::vector<WeightPlan>& plan);

}  // namespace sten
