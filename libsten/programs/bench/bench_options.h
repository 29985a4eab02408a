// SPDX-License-Identifier: Apache-2.0
// Options of sten-bench.
#pragma once
#include "libsten/core/base/device_spec.h"
#include "libsten/programs/bench/row.h"
#include "libsten/programs/rewrite/rewrite.h"
#include "libsten/training/comm/communicator.h"

namespace sten {

struct BenchOptions {
  std::string bench;                 // "gemm", "convert", "dispatch", "step", "model", "allreduce"
  std::vector<std::string> shapes;   // "768x3072x4096"; of convert "768x3072"; of models see
                                     // bench_each_bert(); empty: the paper's
  std::vector<std::string> layouts;  // specs; empty: defaults of the benchmark
  std::vector<std::string> forms;    // of gemm: see BenchProduct; empty: gemm
  std::vector<std::string> precisions;   // of gemm and model: see precision_from(); empty: float32,
                                         // and dense bfloat16 if the processor multiplies it. Of
                                         // step on a device: see step_precisions()
  std::vector<std::string> inputs;       // of convert: see bench_input(); empty: normal
  std::vector<int> threads;              // empty: 1
  std::vector<std::string> configs;      // of step and model: config.json of BERTs; with weights,
                                         // those beside them
  std::string model;                     // of model: an ONNX model instead of a BERT; empty: none
  std::string weights;                   // of model: a checkpoint; empty: random ones
  std::vector<std::string> activations;  // of step: layouts of hidden activations of an MLP,
                                         // instead of a BERT; empty: none
  std::optional<Index> batch, window;    // of step and model: sequences, and tokens per sequence
  std::optional<int> refresh;            // of step: interval of new masks; 100
  std::optional<int> repeats;            // see TimingOptions
  DeviceSpec device;                     // of gemm, convert, step
  std::string transport = "float32";     // of allreduce and step: or bfloat16
  std::shared_ptr<Communicator> ranks{};  // of allreduce and step; nullptr: this process only
  std::uint64_t seed = 0;
  std::string against;                 // results of an earlier run; empty: none
  std::optional<double> max_slowdown;  // default: 1.1
  bool fail_if_slower = false;         // of gemm and model: see add_slower()
};

inline constexpr int usual_refresh = 100;

}  // namespace sten
