// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/execution/generation.h"

#include <doctest/doctest.h>

#include <cmath>

#include "libsten/core/base/parallel.h"
#include "libsten/core/registry/registry.h"
#include "libsten/model/nn/bert.h"
#include "libsten/model/nn/gpt.h"
#include "tests/support/llama_graph.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

constexpr Index vocabulary_size = 30;

GptConfig config_of(Index positions) {
  GptConfig c;
  c.vocab_size = vocabulary_size;
  c.n_positions = positions;
  c.n_embd = 48;
  c.n_layer = 2;
  c.n_head = 3;
  c.n_inner = 96;
  c.initializer_range = 0.15;
  return c;
}

NamedValues<Tensor> weights_in(const Graph& g, const char* layout) {
  NamedValues<Tensor> all = initial_weights(g, 7);
  const bool is_nmg = std::string_view(layout).starts_with("nmg");
  for (auto& [name, w] : all)
    if (w.shape().size() == 2 && name.find(".h.") != std::string::npos &&
        std::string_view(layout) != "dense")
      w = registry().prune(w.as<Dense>(), Spec::parse(is_nmg ? layout : "magnitude:sparsity=0.5"),
                           Spec::parse(layout));
  return all;
}

std::vector<std::int64_t> text_of(Index n) {
  std::vector<std::int64_t> ids;
  for (Index i = 0; i < n; ++i) ids.push_back((i * i * 31 + i / 2) % vocabulary_size);
  return ids;
}

// The logits of the last of the first n tokens, by running all of them.
std::vector<float> by_running_all(const Graph& g, const NamedValues<Tensor>& w,
                                  const std::vector<std::int64_t>& ids, Index n) {
  Dense x = Dense::zeros(DType::I64, {1, n});
  std::copy_n(ids.begin(), n, x.values.mutate<std::int64_t>().begin());
  const std::vector<float> all = floats(g.run<Tensor>(w, gpt_inputs(x)).at("lm_head").to_dense());
  return {all.end() - vocabulary_size, all.end()};
}

double furthest(std::span<const float> a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  double worst = 0;
  for (std::size_t i = 0; i < b.size(); ++i)
    worst = std::max(worst, std::abs(double{a[i]} - double{b[i]}));
  return worst;
}

// A graph of an embedding and one node that may mix tokens.
std::string refusal(const std::string& op, const Attributes& attributes,
                    std::vector<std::string> in = {"x"}) {
  const Graph g({{"input_ids"},
                 {{"table", {vocabulary_size, 8}}, {"row", {5, 8}}},
                 {{"x", "embedding", {"table", "input_ids"}}, {"y", op, std::move(in), attributes}},
                 {"y"}});
  return error_of([&] { check_generates(g); });
}

}  // namespace

TEST_CASE("token-by-token logits of a GPT match those of a full run") {
  const Graph g = gpt(config_of(160)), last = gpt(config_of(160), {.last = true});
  const std::vector<std::int64_t> ids = text_of(150);
  for (const char* layout : {"dense", "csr", "nmg:n=1,m=4,g=4"}) {
    CAPTURE(layout);
    const NamedValues<Tensor> w = weights_in(g, layout);
    for (const Index prompt : {1, 7, 40, 100}) {
      CAPTURE(prompt);
      Generation all(g, w, 150), of_last(last, w, 150);
      const std::span<const std::int64_t> text(ids);
      Index n = prompt;
      CHECK(furthest(all.run(text.first(n)), by_running_all(g, w, ids, n)) < 1e-5);
      CHECK(furthest(of_last.run(text.first(n)), by_running_all(g, w, ids, n)) < 1e-5);
      for (; n < prompt + 30; ++n) {
        const std::vector<float> wanted = by_running_all(g, w, ids, n + 1);
        REQUIRE(furthest(all.run(text.subspan(n, 1)), wanted) < 1e-5);
        REQUIRE(furthest(of_last.run(text.subspan(n, 1)), wanted) < 1e-5);
      }
      CHECK(all.tokens() == n);
    }
  }
}

TEST_CASE("with rotary positions and grouped heads, incremental logits match those of a full run") {
  const std::vector<std::int64_t> ids = text_of(150);
  const std::span<const std::int64_t> text(ids);
  for (const Attributes& rules :
       {Attributes(), Attributes().set("window", 40).set("soft_cap", 0.5)}) {
    CAPTURE(rules.str());
    const Graph g = llama_graph({2, 48, 6, 2, 12, 80, vocabulary_size}, rules);
    const NamedValues<Tensor> w = initial_weights(g, 3);
    Generation model(g, w, 150);
    Index n = 0;
    for (const Index more : {3, 1, 60, 1, 1, 40, 5}) {
      CAPTURE(more);
      const std::span<const float> got = model.run(text.subspan(n, more));
      n += more;
      CHECK(furthest(got, by_running_all(g, w, ids, n)) < 2e-5);
    }
    // Two layers of 2 heads; the 12 features of values are padded to 64.
    CHECK(model.cache_bytes() < 2 * 4 * (2 * 192 * (12 + 64) + 6 * 400));
  }
}

TEST_CASE("a KV cache in bfloat16 takes about half the memory, with logits close to a full run") {
  const std::vector<std::int64_t> ids = text_of(150);
  const std::span<const std::int64_t> text(ids);
  const Graph g = llama_graph({2, 48, 6, 2, 12, 80, vocabulary_size}, {});
  const NamedValues<Tensor> w = initial_weights(g, 3);
  Index full = 0;
  const std::vector<PrecisionRule> none, of_attention{{"*attention", Precision::bf16}},
      all{{"*", Precision::bf16}};
  for (const auto& precision : {none, of_attention, all}) {
    CAPTURE(precision.size());
    Generation model(g, w, 150, precision);
    Index n = 0;
    for (const Index more : {3, 1, 60, 1, 1, 40, 5}) {
      CAPTURE(more);
      const std::span<const float> got = model.run(text.subspan(n, more));
      n += more;
      CHECK(furthest(got, by_running_all(g, w, ids, n)) < (precision.empty() ? 2e-5 : 0.05));
    }
    // Besides the caches there is memory of a run: queries and scores.
    if (precision.empty())
      full = model.cache_bytes();
    else
      CHECK(model.cache_bytes() < 0.56 * static_cast<double>(full));
  }
}

TEST_CASE("appended tokens and a rewind give the logits of a full run at a constant cache size") {
  const Graph g = gpt(config_of(160));
  const NamedValues<Tensor> w = weights_in(g, "dense");
  const std::vector<std::int64_t> ids = text_of(150);
  Generation model(g, w, 150);
  Index n = 0, bytes = 0;
  for (const Index more : {3, 1, 60, 1, 1, 40, 5}) {
    CAPTURE(more);
    const std::span<const float> got =
        model.run(std::span<const std::int64_t>(ids).subspan(n, more));
    n += more;
    CHECK(furthest(got, by_running_all(g, w, ids, n)) < 1e-5);
    if (bytes == 0) bytes = model.cache_bytes();
    CHECK(model.cache_bytes() == bytes);
  }
  // After a rewind, other tokens can follow.
  model.rewind(70);
  const std::span<const float> other = model.run(std::span<const std::int64_t>(ids).subspan(70, 2));
  CHECK(furthest(other, by_running_all(g, w, ids, 72)) < 1e-5);
  CHECK(error_of([&] { model.rewind(73); }) == "rewind: expected 0 to 72 tokens, got 73");
  // Two layers of 3 heads; the 16 features of values are padded to 64.
  CHECK(bytes >= 2 * 3 * 150 * (16 + 16) * 4);
  const int before = threads();
  std::vector<std::vector<float>> of_threads;
  for (const int count : {1, 3}) {
    set_threads(count);
    Generation again(g, w, 150);
    again.run(std::span<const std::int64_t>(ids).first(100));
    const std::span<const float> y = again.run(std::span<const std::int64_t>(ids).subspan(100, 1));
    of_threads.emplace_back(y.begin(), y.end());
  }
  set_threads(before);
  CHECK(of_threads[0] == of_threads[1]);
}

TEST_CASE("packed weights can be released between the prompt and single tokens") {
  const Graph g = gpt(config_of(160));
  const NamedValues<Tensor> w = weights_in(g, "dense");
  const std::vector<std::int64_t> ids = text_of(90);
  const std::span<const std::int64_t> text(ids);
  struct Packed {};
  Generation model(g, w, 150);
  model.run(text.first(80));
  std::vector<std::weak_ptr<const Packed>> packed;
  for (const auto& [name, x] : w)
    packed.push_back(x.derived().get<Packed>([] { return Packed(); }));
  model.release_packed_weights();
  for (const auto& of_weight : packed) CHECK(of_weight.expired());
  for (const Index n : {81, 82})
    CHECK(furthest(model.run(text.subspan(n - 1, 1)), by_running_all(g, w, ids, n)) < 1e-5);
}

TEST_CASE("sequences of different lengths in a batch have the logits of separate runs") {
  const Graph g = gpt(config_of(160)), last = gpt(config_of(160), {.last = true});
  const std::vector<std::int64_t> ids = text_of(150);
  const std::span<const std::int64_t> text(ids);
  const std::vector<Index> prompts{5, 1, 30, 90, 12, 2, 17, 64};
  const auto sequences = std::ssize(prompts);
  for (const char* layout : {"dense", "nmg:n=1,m=4,g=4"})
    for (const Graph& of : {g, last}) {
      CAPTURE(layout);
      const NamedValues<Tensor> w = weights_in(g, layout);
      Generation model(of, w, 150, {}, sequences);
      const auto check = [&](const std::vector<NextTokens>& next) {
        const std::span<const float> rows = model.run_batch(next);
        REQUIRE(std::ssize(rows) == std::ssize(next) * vocabulary_size);
        for (std::size_t i = 0; i < next.size(); ++i) {
          // Sequence s is the text from s on.
          const std::span<const std::int64_t> own = text.subspan(next[i].sequence);
          const std::vector<std::int64_t> all(own.begin(), own.end());
          REQUIRE(furthest(rows.subspan(i * vocabulary_size, vocabulary_size),
                           by_running_all(g, w, all, model.tokens(next[i].sequence))) < 1e-5);
        }
      };
      const auto next_of = [&](Index s, Index n) {
        return NextTokens{s, text.subspan(s + model.tokens(s), n)};
      };
      std::vector<NextTokens> next;
      for (Index s = 0; s < sequences; ++s) next.push_back(next_of(s, prompts[s]));
      check(next);
      // Sequences may end, in any order, and others may get several tokens.
      for (const std::vector<Index>& more :
           {std::vector<Index>{1, 1, 1, 1, 1, 1, 1, 1}, {1, 0, 1, 3, 1, 1, 0, 1}, {0, 0, 0, 1}}) {
        next.clear();
        for (Index s = std::ssize(more) - 1; s >= 0; --s)
          if (more[s] > 0) next.push_back(next_of(s, more[s]));
        check(next);
      }
      // After a rewind, a batch of a sequence of one token and a longer one.
      for (const Index s : {0, 1}) model.rewind(0, s);
      check({next_of(0, 1), next_of(1, 40)});
      CHECK(error_of([&] {
              model.run_batch(std::vector{next_of(0, 1), next_of(0, 1)});
            }) == "expected distinct sequences below 8, got 0");
      CHECK(model.tokens(3) == 90 + 1 + 3 + 1);
    }
}

TEST_CASE("tokens beyond the limit are rejected, and the KV cache remains usable") {
  const Graph g = gpt(config_of(20));
  const NamedValues<Tensor> w = weights_in(g, "dense");
  CHECK(error_of([&] { Generation(g, w, 21); }) == "21 tokens exceed the model's 20 positions");
  CHECK(error_of([&] { Generation(g, w, 0); }) == "expected at least 1 token, got 0");
  Generation model(g, w, 10);
  const std::vector<std::int64_t> ids = text_of(12);
  const std::span<const std::int64_t> text(ids);
  model.run(text.first(8));
  CHECK(error_of([&] { model.run(text.subspan(8, 3)); }) ==
        "3 tokens after 8 exceed the limit of 10");
  CHECK(error_of([&] { model.run({}); }) == "expected at least one token");
  const std::int64_t unknown = vocabulary_size;
  CHECK(error_of([&] { model.run({&unknown, 1}); }) != "");
  CHECK(model.tokens() == 8);
  CHECK(furthest(model.run(text.subspan(8, 1)), by_running_all(g, w, ids, 9)) < 1e-5);
}

TEST_CASE("graphs that mix tokens outside causal attention are rejected with the node's name") {
  BertConfig c;
  c.vocab_size = c.max_position_embeddings = 20;
  c.num_hidden_layers = 2;
  c.hidden_size = c.intermediate_size = 8;
  c.num_attention_heads = 2;
  CHECK(error_of([&] { check_generates(bert(c)); }) ==
        "node 'bert.encoder.layer.0.attention.self': attention is not causal, so the graph cannot "
        "generate text");
  CHECK(error_of([&] { check_generates(gpt(config_of(20), {.mask = true})); }) ==
        "unexpected input 'attention_mask': text generation takes only input_ids and "
        "position_ids");
  const auto axes = [](Index axis) { return Attributes().set("axes", Attributes::List{axis}); };
  CHECK(refusal("mean", axes(1).set("keep", 1)) ==
        "node 'y': mean may mix tokens, so the graph cannot generate text");
  CHECK(refusal("add", {}, {"x", "row"}) ==
        "node 'y': add has other parameters for each token, so the graph cannot generate text");
  CHECK(refusal("slice", Attributes().set("axis", 1).set("begin", 0).set("end", 1)) ==
        "node 'y': slice takes some of the tokens, so the graph cannot generate text");
  CHECK(refusal("slice", Attributes().set("axis", -1).set("begin", 0).set("end", 4)) == "");
  CHECK(refusal("tanh", {}) == "");
  CHECK(refusal("rms-norm", {}, {"x", "row"}) == "");
  CHECK(refusal("rotary", {}, {"x", "row", "row"}) ==
        "node 'y': rotary does not get the tokens' positions, so the graph cannot generate text");
  CHECK(error_of([&] { check_generates(gpt(config_of(20))); }) == "");
}
