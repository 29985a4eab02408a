// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/nn/gpt.h"

#include <doctest/doctest.h>

#include <cmath>

#include "libsten/core/registry/registry.h"
#include "libsten/model/execution/executor.h"
#include "libsten/model/graph/graph_json.h"
#include "libsten/model/nn/config_fields.h"
#include "libsten/model/nn/weights.h"
#include "tests/autograd/pytorch.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

const std::string exported = STEN_SOURCE_DIR "/tests/onnx/models/gpt2";

// The GPT-2 that tests/onnx/make_models.py makes with transformers.
struct Shipped {
  Checkpoint file = Checkpoint::open(exported + "-opset14.onnx");
  Checkpoint cases = Checkpoint::open(exported + ".safetensors");

  Tensor weight(const std::string& name) const { return file.load(*file.find("model." + name)); }
  GptConfig config() const {
    GptConfig c;
    const Shape tokens = weight("transformer.wte.weight").shape();
    c.vocab_size = tokens[0];
    c.n_embd = tokens[1];
    c.n_positions = weight("transformer.wpe.weight").shape()[0];
    c.n_layer = 2;
    c.n_head = 4;
    c.n_inner = 2 * c.n_embd;
    return c;
  }
  // A checkpoint as transformers saves it, with the prefix `drop` removed from names; matrices are
  // [in, out].
  std::string saved(const TempDir& dir, const std::string& drop, bool has_triangles) const {
    GraphParts parts;
    NamedValues<Tensor> all;
    const auto add = [&](const std::string& name, Tensor x) {
      parts.weights.push_back({name, x.shape()});
      all.emplace(name, std::move(x));
    };
    for (const CheckpointTensor& t : file.tensors())
      if (t.name.starts_with("model." + drop) && t.dtype == DType::F32 &&
          (t.name.ends_with(".weight") || t.name.ends_with(".bias")) &&
          !t.name.ends_with("lm_head.weight"))
        add(t.name.substr(6 + drop.size()), file.load(t));
    for (int i = 0; has_triangles && i < 2; ++i)
      add(fmt::format("h.{}.attn.bias", i), Dense::zeros(DType::F32, {1, 1, 32, 32}));
    const std::string path = dir / (drop + "model.safetensors");
    save_weights(Graph(std::move(parts)), all, path);
    return path;
  }
  NamedValues<Tensor> inputs(const std::string& size, bool has_mask) const {
    NamedValues<Tensor> in = gpt_inputs(cases.load(*cases.find(size + ".in.input_ids")));
    if (has_mask)
      in.emplace("attention_mask", cases.load(*cases.find(size + ".in.attention_mask")));
    return in;
  }
  Tensor logits(const std::string& size) const {
    return cases.load(*cases.find("opset14." + size));
  }
};

GptConfig small_config() {
  GptConfig c;
  c.vocab_size = 50;
  c.n_positions = 160;
  c.n_embd = 48;
  c.n_layer = 2;
  c.n_head = 3;
  c.n_inner = 112;
  c.initializer_range = 0.2;
  return c;
}

NamedValues<Tensor> some_ids(Index batch, Index tokens) {
  Dense ids = Dense::zeros(DType::I64, {batch, tokens});
  for (Index i = 0; i < ids.size(); ++i)
    ids.values.mutate<std::int64_t>()[i] = (i * 7919 + i / 3) % 50;
  return gpt_inputs(ids);
}

const std::string usual = R"({"model_type": "gpt2", "vocab_size": 50, "n_positions": 8,
                              "n_embd": 12, "n_layer": 2, "n_head": 3, "n_inner": null})";

}  // namespace

TEST_CASE("GPT-2 logits match those of transformers, with or without the name prefix") {
  const Shipped shipped;
  const TempDir dir;
  const Graph g = gpt(shipped.config(), {.mask = true});
  for (const bool is_bare : {false, true}) {
    const Checkpoint file =
        Checkpoint::open(shipped.saved(dir, is_bare ? "transformer." : "", is_bare));
    const NamedValues<Tensor> w = load_weights(g, file, gpt_unused());
    for (const char* size : {"b2s7", "b3s12"}) {
      const Tensor y = g.run<Tensor>(w, shipped.inputs(size, true)).at("lm_head");
      CHECK(far_from(shipped.logits(size), y, 2e-5) == "");
    }
  }
}

TEST_CASE("saved GPT weights round trip in [out, in] and in [in, out] order") {
  const TempDir dir;
  const Graph g = gpt(small_config());
  const NamedValues<Tensor> w = initial_weights(g, 3);
  for (const bool in_by_out : {false, true}) {
    save_weights(g, w, dir / "model.safetensors", true, {}, in_by_out);
    const Checkpoint file = Checkpoint::open(dir / "model.safetensors");
    const Shape shape = in_by_out ? Shape{48, 144} : Shape{144, 48};
    CHECK(file.find("transformer.h.0.attn.c_attn.weight")->shape == shape);
    const NamedValues<Tensor> back = load_weights(g, file);
    for (const auto& one : w)
      CHECK(same_bits(back.at(one.first).to_dense(), one.second.to_dense()));
  }
}

TEST_CASE("sparse [in, out] matrices are transposed with their layout on load") {
  const TempDir dir;
  const Graph g({{}, {{"w", {144, 48}, Spec("zeros"), {}, {}, true}}, {}, {}});
  Dice dice(2);
  const Dense in_by_out = normals(dice, {48, 144});
  struct Case {
    const char *sparsifier, *file_name, *here;
  };
  for (const Case& c : {Case{"nmg:n=1,m=4,g=4,axis=1", "nmg:n=1,m=4,g=4,axis=1", "nmg:n=1,m=4,g=4"},
                        {"nm:n=2,m=4,axis=0", "nm:n=2,m=4,axis=0", "nm:n=2,m=4"},
                        {"block-magnitude:sparsity=0.5,h=4,w=2", "bcsr:h=4,w=2", "bcsr:h=2,w=4"},
                        {"magnitude:sparsity=0.9", "csr", "csr"},
                        {"magnitude:sparsity=0.9", "masked", "masked"}}) {
    CAPTURE(c.file_name);
    const Tensor x =
        registry().prune(in_by_out, Spec::parse(c.sparsifier), Spec::parse(c.file_name));
    save_weights(Graph({{}, {{"w", {48, 144}}}, {}, {}}), {{"w", x}}, dir / "w.safetensors", true);
    const Tensor y = load_weights(g, Checkpoint::open(dir / "w.safetensors")).at("w");
    CHECK(y.spec().str() == c.here);
    CHECK(same_bits(y.to_dense(), transpose(Tensor(x.to_dense())).to_dense()));
  }
}

TEST_CASE("a GPT fused by the executor matches its unfused operators within rounding") {
  const Graph g = gpt(small_config());
  const NamedValues<Tensor> w = initial_weights(g, 4);
  for (const Index tokens : {5, 64, 150}) {
    CAPTURE(tokens);
    const NamedValues<Tensor> in = some_ids(2, tokens);
    Executor fused(g, w);
    CHECK(far_from(g.run<Tensor>(w, in).at("lm_head"), fused.run(in).at("lm_head"), 1e-5) == "");
  }
}

TEST_CASE("an untied GPT head has a separate weight") {
  const TempDir dir;
  GptConfig c = GptConfig::parse(usual);
  CHECK(c.ties_embeddings);
  Json json = Json::parse(usual);
  json["tie_word_embeddings"] = false;
  c = GptConfig::parse(json.dump());
  const Graph tied = gpt(GptConfig::parse(usual)), g = gpt(c);
  NamedValues<Tensor> w = initial_weights(tied, 6);
  const NamedValues<Tensor> in = some_ids(1, 8);
  const Tensor logits = tied.run<Tensor>(w, in).at("lm_head");
  const auto twice = [](const Tensor& x) { return apply("scale", {x}, Attributes().set("by", 2)); };
  w.emplace("lm_head.weight", twice(w.at("transformer.wte.weight")));
  save_weights(g, w, dir / "w.safetensors", true);
  const NamedValues<Tensor> back = load_weights(g, Checkpoint::open(dir / "w.safetensors"));
  CHECK(far_from(twice(logits), g.run<Tensor>(back, in).at("lm_head"), 1e-5) == "");
  double all = 0;
  for (const Weight& one : g.weights()) all += static_cast<double>(size_of(one.shape));
  CHECK(c.parameters() == all);
}

TEST_CASE("last-token logits match those of the full sequence") {
  const NamedValues<Tensor> w = initial_weights(gpt(small_config()), 5), in = some_ids(2, 9);
  const Tensor all = gpt(small_config()).run<Tensor>(w, in).at("lm_head");
  const Tensor last = gpt(small_config(), {.last = true}).run<Tensor>(w, in).at("lm_head");
  CHECK(far_from(slice(all, 1, 8, 9), last, 1e-6) == "");
}

TEST_CASE("an untrained GPT's loss is near uniform, and no gradient reaches later tokens") {
  const Graph g = gpt(small_config(), {.loss = true});
  GptConfig c = small_config();
  c.initializer_range = 0.02;
  NamedValues<Tensor> in = some_ids(2, 20);
  Dense labels = Dense::zeros(DType::I64, {2, 20});
  in.emplace("labels", labels);
  const double loss = number(
      gpt(c, {.loss = true}).run<Tensor>(initial_weights(g, 1), in).at("loss").to_dense(), 0);
  CHECK(std::isfinite(loss));
  const double flat =
      number(g.run<Tensor>(initial_weights(gpt(c), 1), in).at("loss").to_dense(), 0);
  CHECK(std::abs(flat - std::log(50.0)) < 0.5);
  // The loss of the first token has no gradient for later tokens.
  std::ranges::fill(labels.values.mutate<std::int64_t>(), -100);
  labels.values.mutate<std::int64_t>()[0] = 7;
  Tape tape;
  NamedValues<Var> w, values;
  for (const auto& [name, x] : initial_weights(g, 2)) w.emplace(name, tape.parameter(x));
  for (const auto& [name, x] : in) values.emplace(name, x);
  values.insert_or_assign("labels", Var(labels));
  tape.backward(g.run<Var>(w, values).at("loss"));
  const std::vector<float> dy = floats(w.at("transformer.wpe.weight").grad()->to_dense());
  CHECK(std::any_of(dy.begin(), dy.begin() + 48, [](float x) { return x != 0; }));
  CHECK(std::all_of(dy.begin() + 48, dy.end(), [](float x) { return x == 0; }));
}

TEST_CASE("GPT nodes have module names, and the graph round trips through JSON") {
  const Graph g = gpt(small_config());
  for (const char* name :
       {"transformer.h.1.attn.c_attn", "transformer.h.0.attn", "transformer.h.1.mlp.act",
        "transformer.h.0.mlp.c_fc", "transformer.ln_f", "lm_head"}) {
    CAPTURE(std::string(name));
    CHECK(g.find_node(name) != nullptr);
  }
  CHECK(g.weights().size() == 2 + 2 * 12 + 2);
  CHECK(to_json(parse_graph(to_json(g))) == to_json(g));
  double all = 0;
  for (const Weight& w : g.weights()) all += static_cast<double>(size_of(w.shape));
  CHECK(small_config().parameters() == all);
}

TEST_CASE("an invalid or unsupported GPT config is rejected with its key") {
  const auto with = [](const char* key, const Json& value) {
    Json j = Json::parse(usual);
    j[key] = value;
    return j.dump();
  };
  const auto error = [&](const char* key, const Json& value) {
    return error_of([&] { GptConfig::parse(with(key, value)); });
  };
  CHECK(GptConfig::parse(usual).n_inner == 48);
  CHECK(GptConfig::parse(with("n_inner", 7)).n_inner == 7);
  CHECK(error("n_embd", 13) == "config: /n_head: expected a divisor of n_embd 13, got 3");
  CHECK(error("n_layer", 0) == "config: /n_layer: expected an integer >= 1, got 0");
  CHECK(error("n_inner", -1) == "config: /n_inner: expected an integer >= 1, got -1");
  CHECK(error("activation_function", "laplace")
            .starts_with("config: /activation_function: unknown activation 'laplace' (expected one "
                         "of gelu, "));
  CHECK(error("scale_attn_by_inverse_layer_idx", true) ==
        "config: /scale_attn_by_inverse_layer_idx: expected false, got true");
  CHECK(error("model_type", "bert") ==
        "config: /model_type: expected one of " + known_model_types() + ", got \"bert\"");
  CHECK(is_gpt_config(usual));
  CHECK(is_gpt_config(R"({"n_embd": 4})"));
  CHECK(!is_gpt_config(with("model_type", "bert")));
}
