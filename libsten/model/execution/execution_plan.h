// SPDX-License-Identifier: Apache-2.0
// Plan of an executor: its steps, their times and memory; and the options of planning.
#pragma once
#include <string>
#include <vector>

#include "libsten/compute/product/key_value_cache.h"
#include "libsten/core/base/device.h"

namespace sten {

// Precision of activations and of factors of products; sums are float32.
enum class Precision { float32, bf16 };
const char* name_of(Precision p);  // "float32", "bf16"

// Applies to nodes by name (core/base/name_pattern.h).
struct PrecisionRule {
  std::string nodes;
  Precision precision;
};

// A step of a plan, with the times of the last run.
struct ExecutionStep {
  std::vector<std::string> nodes;  // in execution order
  std::string runs;                // the fused operators: "linear + gelu"
  std::string layout;              // of the weight, or of activations; empty: dense
  std::string why;                 // one line on the reason
  double seconds = 0;              // CPU time on one thread, otherwise elapsed
  double flops = 0;                // of products, counting stored values only
  double bytes = 0;                // read and written
  Shape shape{};                   // of the result; empty: no value of the graph
  Precision precision = Precision::float32;
};

struct ExecutionPlan {
  std::vector<ExecutionStep> steps;
  double seconds = 0;      // of the last run
  Index runs = 0;          // since planning; the first run also packs weights
  Index weight_bytes = 0;  // of weights and constants, without packed copies
  Index live_bytes = 0;    // of values: maximum needed at one time
  Index peak_bytes = 0;    // of values: maximum allocated at one time
};

struct ExecutorOptions {
  // false: each operator runs by itself, with the bits of Graph::run().
  bool fuse = true;
  // KV caches of attention, which hold the earlier tokens and get those of this run (generation.h);
  // must outlive the executor. nullptr: no earlier tokens.
  KeyValueCaches* caches = nullptr;
  // The first rule that matches a node counts; the default is float32. bfloat16 supports linear
  // layers, layer and RMS norms, rotary embeddings, products of activations, elementwise functions,
  // attention and mixtures of experts. Sums, and what they read, stay in float32; so do other nodes,
  // and everything without `fuse`; the plan says so.
  std::vector<PrecisionRule> precision{};
  // The device of the run. Weights are moved there once, constants with each plan, and inputs in
  // each run if necessary. On a device, operators are not fused, run in float32 and have no caches.
  Device device = Device::cpu;
};

}  // namespace sten
