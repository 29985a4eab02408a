// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/bench/bert.h"

#include <algorithm>

#include "libsten/compute/product/sparse_product.h"
#include "libsten/core/base/memory_left.h"
#include "libsten/core/base/random.h"
#include "libsten/core/base/text.h"

namespace sten {
namespace {

// Default tokens per sequence.
constexpr Index usual_window = 128, long_window = 512;

// Parses "2x768x30522": layers, hidden size, vocabulary. Empty for other texts.
Shape parse_extents(const std::string& text) {
  Shape shape;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('x', begin), text.size());
    Index extent = 0;
    if (!parse_integer(std::string_view(text).substr(begin, end - begin), extent) || extent < 1)
      return {};
    shape.push_back(extent);
    begin = end + 1;
  }
  return shape;
}

BertConfig parse_shape(const std::string& text) {
  const Shape s = text == "bert-base" ? Shape{12, 768, 30522} : parse_extents(text);
  if (s.size() != 3)
    fail_usage("--shape {}: expected LAYERSxHIDDENxVOCABULARY, such as 2x768x30522{}", quote(text),
               suggestion(text, {"bert-base"}));
  BertConfig c;
  c.num_hidden_layers = s[0];
  c.hidden_size = s[1];
  c.vocab_size = s[2];
  c.intermediate_size = 4 * s[1];
  c.max_position_embeddings = long_window;
  // Heads of 64 channels, otherwise of 32.
  c.num_attention_heads = s[1] % 64 == 0 ? s[1] / 64 : s[1] % 32 == 0 ? s[1] / 32 : 1;
  return c;
}

// The BERTs of --config, then of --shape.
std::vector<BenchBert> berts(const BenchOptions& o) {
  std::vector<BertConfig> configs;
  for (const std::string& path : o.configs) configs.push_back(BertConfig::read(path));
  for (const std::string& text : o.shapes) configs.push_back(parse_shape(text));
  std::vector<BenchBert> all;
  for (const BertConfig& c : configs) {
    check_memory(4 * c.parameters(), fmt::format("a BERT of {:.3g} parameters", c.parameters()));
    const Index usual = o.bench == "model" ? long_window : usual_window;
    const Index window = o.window.value_or(std::min(usual, c.max_position_embeddings));
    if (window > c.max_position_embeddings)
      fail_usage("--window {} is above max_position_embeddings {} of the model", window,
                 c.max_position_embeddings);
    all.push_back({c, o.batch.value_or(c.hidden_size < 512 ? 32 : 8), window});
  }
  return all;
}

}  // namespace

std::vector<BenchLayout> sparse_layouts(const BenchOptions& o) {
  const bool has_file = !o.model.empty() || !o.weights.empty();
  const BenchZeros zeros = has_file ? BenchZeros::file : BenchZeros::pruned;
  std::vector<BenchLayout> all;
  for (const std::string& text : o.layouts) {
    if (text == stored_layout && o.weights.empty())
      fail_usage("--layouts {} belongs to --weights", stored_layout);
    if (text == stored_layout || (text == fastest_layout && o.bench == "model")) {
      all.push_back({text, Spec(Dense::name), std::nullopt, std::nullopt, zeros});
      continue;
    }
    BenchLayout layout = BenchLayout::parse(text, zeros);
    if (layout.layout.is(Dense::name)) continue;
    if (!has_sparse_product(layout.layout.name()))
      fail_usage("{}: no product found for {} with dense", o.bench, layout.layout.name());
    all.push_back(std::move(layout));
  }
  return all;
}

Dense BenchBert::ids(std::uint64_t seed) const {
  Dense x = Dense::zeros(DType::I64, {batch, window});
  const auto to = x.values.mutate<std::int64_t>();
  for (std::size_t i = 0; i < to.size(); ++i)
    to[i] =
        static_cast<std::int64_t>(random_uniform(seed, i) * static_cast<double>(config.vocab_size));
  return x;
}

std::vector<std::string> encoder_weights(const Graph& g) {
  std::vector<std::string> all;
  for (const Weight& w : g.weights())
    if (w.shape.size() == 2 && w.name.starts_with("bert.encoder.")) all.push_back(w.name);
  return all;
}

std::vector<std::string> outside_encoder() {
  std::vector<std::string> globs = bert_unused();
  globs.emplace_back("cls.*");
  return globs;
}

std::map<std::string, Index> stored_layouts(const Checkpoint& weights) {
  const std::vector<std::string> outside = outside_encoder();
  std::map<std::string, Index> counts;
  for (const CheckpointTensor& t : weights.tensors()) {
    const auto matches = [&](const std::string& glob) { return glob_match(glob, t.name); };
    if (t.is_sparse() && std::ranges::none_of(outside, matches)) ++counts[t.layout.str()];
  }
  return counts;
}

std::vector<BenchRow> bench_each_bert(const BenchOptions& o, const MeasureBert& measure) {
  const std::vector<BenchLayout> layouts = sparse_layouts(o);
  std::vector<BenchRow> rows;
  for (const BenchBert& model : berts(o))
    for (const int threads : o.threads)
      for (BenchRow& row : measure(model, layouts, threads, o)) rows.push_back(std::move(row));
  return rows;
}

}  // namespace sten
