// What a model that runs again and again allocates.
#include "libsten/graph/executor.h"

#include <doctest/doctest.h>

#include "libsten/dispatch/registry.h"
#include "libsten/nn/bert.h"
#include "tests/memory/counter.h"
#include "tests/support/parts.h"

using namespace sten;
using namespace sten::testing;

namespace {

BertConfig small() {
  BertConfig c;
  c.num_hidden_layers = 2;
  c.hidden_size = 48;
  c.num_attention_heads = 3;
  c.intermediate_size = 96;
  c.vocab_size = 50;
  c.max_position_embeddings = 80;
  return c;
}

}  // namespace

TEST_CASE("the tenth run of a BERT allocates nothing, whatever the layout of its weights") {
  const Threads one(1);
  const Graph g = bert(small(), {.mask = true});
  for (const char* layout : {"dense", "csr", "nmg:n=1,m=4,g=4"}) {
    CAPTURE(std::string(layout));
    NamedValues<Tensor> w = initial_weights(g, 4);
    const Spec spec = Spec::parse(layout);
    for (auto& [name, x] : w)
      if (name.starts_with("bert.encoder.") && x.shape().size() == 2)
        x = registry().prune(x.as<Dense>(),
                             spec.is("nmg") ? spec : Spec::parse("magnitude:sparsity=0.5"), spec);
    Executor run(g, w);
    // Sequences that begin with a panel, and others.
    for (const Index window : {64, 40}) {
      NamedValues<Tensor> inputs = bert_inputs(Dense::zeros(DType::I64, {3, window}));
      Dense mask = Dense::zeros(DType::I64, {3, window});
      for (std::int64_t& seen : mask.values.mutate<std::int64_t>()) seen = 1;
      inputs.emplace("attention_mask", mask);
      for (int i = 1; i < 10; ++i) run.run(inputs);
      const std::int64_t before = calls;
      run.run(inputs);
      CHECK(calls - before == 0);
    }
  }
}

TEST_CASE("outputs that a caller keeps are not written over") {
  const Graph g({{"x"}, {{"w", {8, 8}, Spec("ones")}}, {{"y", "linear", {"x", "w"}}}, {"y"}});
  Executor run(g, initial_weights(g, 1));
  const auto ones = [](float by) {
    Dense x = Dense::zeros(DType::F32, {40, 8});
    for (float& v : x.values.mutate<float>()) v = by;
    return Tensor(x);
  };
  run.run({{"x", ones(1)}});
  const Tensor kept = run.run({{"x", ones(2)}}).at("y");
  // The values alone count, too.
  const Dense values = run.run({{"x", ones(3)}}).at("y").as<Dense>();
  run.run({{"x", ones(4)}});
  CHECK(kept.as<Dense>().values.as<float>()[0] == 16);
  CHECK(values.values.as<float>()[0] == 24);
}
