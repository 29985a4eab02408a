// The BERTs that sten-bench step and sten-bench model measure.
#pragma once
#include "libsten/nn/bert.h"
#include "libsten/run/bench/bench.h"
#include "libsten/run/bench/subject.h"

namespace sten {

struct BenchBert {
  BertConfig config;
  Index batch, window;  // sequences, and tokens of each

  // [layers, hidden size, sequences, tokens]: how reports name it.
  Shape shape() const { return {config.num_hidden_layers, config.hidden_size, batch, window}; }
  // Whole numbers below the vocabulary, the same for the same seed: [batch, window].
  Dense ids(std::uint64_t seed) const;
};

// Those of --config, else of --shape. Error (usage or input).
std::vector<BenchBert> bench_berts(const BenchOptions& options);

// Weights of the linear layers of the encoder, by name: what is made sparse.
std::vector<std::string> encoder_weights(const Graph& g);

// Those of the options but dense, which is measured in any case. Error (usage).
std::vector<BenchLayout> bench_bert_layouts(const BenchOptions& options);

}  // namespace sten
