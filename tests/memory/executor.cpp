// SPDX-License-Identifier: Apache-2.0
// Allocations of a model that runs repeatedly.
#include "libsten/model/execution/executor.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>

#include "libsten/core/dispatch/operators.h"
#include "libsten/core/tensor/low_floats.h"
#include "tests/memory/counter.h"
#include "tests/support/small_bert.h"

using namespace sten;
using namespace sten::testing;

namespace {

// Calls f with an executor of a BERT with weights in a layout, and with its inputs.
void each_bert(const std::function<void(Executor&, const NamedValues<Tensor>&)>& f) {
  const Graph g = bert(small_bert(), {.mask = true});
  using Case = std::pair<const char*, Precision>;
  for (const Case& c : {Case("dense", Precision::float32), Case("csr", Precision::float32),
                        Case("nmg:n=1,m=4,g=4", Precision::float32), Case("dense", Precision::bf16),
                        Case("csr", Precision::bf16)}) {
    const char* layout = c.first;
    const Precision precision = c.second;
    CAPTURE(std::string(layout));
    CAPTURE(std::string(name_of(precision)));
    ExecutorOptions options;
    options.precision = {{"*", precision}};
    Executor run(g, bert_weights(g, layout, 1), options);
    // Sequences that start at a panel boundary, and others; within a narrow panel, and with few
    // tokens.
    for (const Shape& tokens :
         {Shape{3, 64}, Shape{3, 40}, Shape{1, 16}, Shape{2, 6}, Shape{1, 3}, Shape{1, 1}}) {
      CAPTURE(to_string(tokens));
      f(run, bert_values(tokens[0], tokens[1], true));
    }
  }
}

}  // namespace

TEST_CASE("the tenth run of a BERT with dense, csr or n:m:g weights allocates nothing") {
  const Threads one(1);
  each_bert([](Executor& run, const NamedValues<Tensor>& inputs) {
    for (int i = 1; i < 10; ++i) run.run(inputs);
    const std::int64_t before = calls;
    run.run(inputs);
    CHECK(calls - before == 0);
  });
}

// A thread allocates its scratch at its first segment. The machine decides when this happens, but
// each of a dozen scratch buffers is allocated once.
TEST_CASE("on two threads, most repeated runs of a BERT allocate nothing") {
  const Threads two(2);
  each_bert([](Executor& run, const NamedValues<Tensor>& inputs) {
    for (int i = 1; i < 10; ++i) run.run(inputs);
    int allocate = 0;
    for (int i = 0; i < 100; ++i) {
      const std::int64_t before = calls;
      run.run(inputs);
      allocate += calls != before;
    }
    CHECK(allocate < 25);
  });
}

TEST_CASE("later runs do not overwrite outputs that the caller holds") {
  const Graph g({{"x"}, {{"w", {8, 8}, Spec("ones")}}, {{"y", "linear", {"x", "w"}}}, {"y"}});
  Executor run(g, initial_weights(g, 1));
  const auto ones = [](float by) {
    Dense x = Dense::zeros(DType::F32, {40, 8});
    for (float& v : x.values.mutate<float>()) v = by;
    return Tensor(x);
  };
  run.run({{"x", ones(1)}});
  const Tensor kept = run.run({{"x", ones(2)}}).at("y");
  // A Dense copy keeps the values alive too.
  const Dense values = run.run({{"x", ones(3)}}).at("y").as<Dense>();
  run.run({{"x", ones(4)}});
  CHECK(kept.as<Dense>().values.as<float>()[0] == 16);
  CHECK(values.values.as<float>()[0] == 24);
}

TEST_CASE("embedding widens only the selected rows of a bfloat16 table") {
  const Graph g({{"ids"},
                 {{"table", {8192, 64}, Spec("uniform").set("bound", "1")}},
                 {{"y", "embedding", {"table", "ids"}}},
                 {"y"}});
  const NamedValues<Tensor> wide = initial_weights(g, 1);
  NamedValues<Tensor> low;
  low.emplace("table", rounded_to(DType::BF16, wide.at("table")));
  Dense ids = Dense::zeros(DType::I64, {2});
  ids.values.mutate<std::int64_t>()[1] = 8191;
  std::optional<Tensor> y;
  CHECK(bytes_of([&] {
          Executor run(g, low);
          y = run.run({{"ids", ids}}).at("y");
        }) < static_cast<std::int64_t>(low.at("table").bytes()) / 2);
  const Tensor rows = widened(apply("embedding", {low.at("table"), ids}));
  REQUIRE(y->dtype() == DType::F32);
  CHECK(std::ranges::equal(y->values()->as<float>(), rows.values()->as<float>()));
}
