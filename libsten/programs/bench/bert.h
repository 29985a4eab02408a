// SPDX-License-Identifier: Apache-2.0
// BERTs of sten-bench step and sten-bench model.
#pragma once
#include <functional>
#include <map>

#include "libsten/files/checkpoint/checkpoint.h"
#include "libsten/model/nn/bert.h"
#include "libsten/programs/bench/bench_layout.h"
#include "libsten/programs/bench/bench_options.h"

namespace sten {

// Instead of a layout: the layouts that the file of --weights has.
inline constexpr const char* stored_layout = "stored";
// The fastest layout of each weight; see in_fastest_layouts().
inline constexpr const char* fastest_layout = "auto";

struct BenchBert {
  BertConfig config;
  Index batch, window;  // sequences, and tokens per sequence

  // [layers, hidden size, sequences, tokens], for reports.
  Shape shape() const { return {config.num_hidden_layers, config.hidden_size, batch, window}; }
  // Random ids [batch, window], the same for the same seed.
  Dense ids(std::uint64_t seed) const;
};

// The names of the encoder's linear weights, which are made sparse.
std::vector<std::string> encoder_weights(const Graph& g);

// The number of the encoder's tensors in a file by sparse layout.
std::map<std::string, Index> stored_layouts(const Checkpoint& weights);
// Globs of a checkpoint's tensors outside of the encoder: heads and the pooler.
std::vector<std::string> outside_encoder();

// The layouts of the options without dense, which is always measured. Error (usage).
std::vector<BenchLayout> sparse_layouts(const BenchOptions& options);

// Measures every model and number of threads. `layouts`: sparse_layouts(). Error (usage or input).
using MeasureBert = std::function<std::vector<BenchRow>(
    const BenchBert&, const std::vector<BenchLayout>& layouts, int threads, const BenchOptions&)>;
std::vector<BenchRow> bench_each_bert(const BenchOptions& options, const MeasureBert& measure);

}  // namespace sten
