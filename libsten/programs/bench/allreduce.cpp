// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/bench/allreduce.h"

#include "libsten/core/base/memory_pool.h"
#include "libsten/core/layout/masked.h"
#include "libsten/programs/bench/bert.h"
#include "libsten/programs/bench/input.h"
#include "libsten/training/comm/comm_self.h"
#include "libsten/training/trainer/gradient_exchange.h"

namespace sten {
namespace {

// Gradients of weights in one layout.
class ExchangeCase {
 public:
  ExchangeCase(const Graph& g, const BenchLayout* layout, std::uint64_t seed) {
    for (const std::string& name : encoder_weights(g)) {
      Tensor w = bench_input("normal", g.find_weight(name)->shape, seed++);
      if (layout) w = layout->convert(layout->prepare(w.to_dense()));
      // The gradient of a masked weight is dense; its values are gathered.
      gradients_.push_back(w.is<Masked>() ? Tensor(bench_input("normal", w.shape(), seed++)) : w);
      weights_.push_back(std::move(w));
    }
  }

  void exchange(Communicator& ranks, Transport by) {
    GradientExchange exchange(ranks, by);
    for (std::size_t i = gradients_.size(); i-- > 0;)
      exchange.add(gradients_[i], weights_[i].is<Masked>() ? &weights_[i] : nullptr);
    exchange.finish();
  }

 private:
  std::vector<Tensor> weights_, gradients_;
};

std::vector<BenchRow> measure(const BenchBert& model, const std::vector<BenchLayout>& layouts,
                              int threads, const BenchOptions& o) {
  set_threads(threads);
  enlarge_memory_pool();
  const Graph g = bert(model.config, {.mask = false, .selected = true, .loss = true});
  const std::shared_ptr<Communicator> alone = comm_self();
  const Transport by = transport_from(o.transport).value();
  std::vector<std::unique_ptr<ExchangeCase>> cases;
  cases.push_back(std::make_unique<ExchangeCase>(g, nullptr, o.seed));
  for (const BenchLayout& layout : layouts)
    cases.push_back(std::make_unique<ExchangeCase>(g, &layout, o.seed));
  std::vector<std::function<void()>> variants;
  std::vector<std::uint64_t> bytes;
  for (const auto& s : cases) {
    const std::uint64_t before = o.ranks->bytes();
    s->exchange(*o.ranks, by);
    bytes.push_back(o.ranks->bytes() - before);
    variants.push_back([&] { s->exchange(*o.ranks, by); });
    variants.push_back([&] { s->exchange(*alone, by); });
  }
  const auto seconds = time_interleaved(
      variants, {.repeats = o.repeats, .threads = threads, .ranks = o.ranks.get()});
  std::vector<BenchRow> rows;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    BenchRow& row = rows.emplace_back();
    row.bench = "allreduce";
    row.form = o.transport;
    row.shape = {model.config.num_hidden_layers, model.config.hidden_size};
    row.layout = i == 0 ? "dense" : layouts[i - 1].name;
    row.threads = threads;
    row.ranks = o.ranks->size();
    row.bytes = static_cast<Index>(bytes[i]);
    row.seconds = median(seconds[2 * i]);
    row.pack_seconds = median(seconds[2 * i + 1]);
    row.ratio = speedup(seconds[0], seconds[2 * i]);
    row.repeats = static_cast<int>(seconds[2 * i].size());
  }
  return rows;
}

}  // namespace

std::vector<BenchRow> bench_allreduce(const BenchOptions& options) {
  return bench_each_bert(options, measure);
}

}  // namespace sten
