// The BERTs that sten-bench step and sten-bench model measure.
#pragma once
#include <functional>
#include <map>

#include "libsten/bench/bench.h"
#include "libsten/bench/bench_layout.h"
#include "libsten/io/checkpoint.h"
#include "libsten/nn/bert.h"

namespace sten {

// In the place of a layout: those in which the file of --weights stores its tensors.
inline constexpr const char* stored_layout = "stored";
// The one that is fastest for each weight, see in_fastest_layouts().
inline constexpr const char* fastest_layout = "auto";

struct BenchBert {
  BertConfig config;
  Index batch, window;  // sequences, and tokens of each

  // [layers, hidden size, sequences, tokens]: how reports name it.
  Shape shape() const { return {config.num_hidden_layers, config.hidden_size, batch, window}; }
  // Whole numbers below the vocabulary, the same for the same seed: [batch, window].
  Dense ids(std::uint64_t seed) const;
};

// Weights of the linear layers of the encoder, by name: what is made sparse.
std::vector<std::string> encoder_weights(const Graph& g);

// Of the tensors of a file that the encoder has, how many are in which sparse layout.
std::map<std::string, Index> stored_layouts(const Checkpoint& weights);
// What a checkpoint has besides the encoder, as globs: heads and the pooler.
std::vector<std::string> outside_encoder();

// The layouts of the options but dense, which is measured in any case. Error (usage).
std::vector<BenchLayout> sparse_layouts(const BenchOptions& options);

// Rows of every model and number of threads; `layouts` are sparse_layouts(). Error (usage or
// input).
using MeasureBert = std::function<std::vector<BenchRow>(
    const BenchBert&, const std::vector<BenchLayout>& layouts, int threads, const BenchOptions&)>;
std::vector<BenchRow> bench_each_bert(const BenchOptions& options, const MeasureBert& measure);

}  // namespace sten
