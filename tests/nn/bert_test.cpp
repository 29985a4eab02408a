// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/nn/bert.h"

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <iterator>

#include "libsten/files/checkpoint/named_tensors.h"
#include "libsten/model/graph/graph_json.h"
#include "libsten/model/nn/config_fields.h"
#include "libsten/model/nn/weights.h"
#include "tests/autograd/pytorch.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

const std::string model = STEN_SOURCE_DIR "/recipes/models/shakespeare-bert";

BertConfig config() {
  std::ifstream in(model + "/config.json");
  return BertConfig::parse(std::string(std::istreambuf_iterator<char>(in), {}));
}
NamedValues<Tensor> weights_for(const Graph& g) {
  return load_weights(g, Checkpoint::open(model + "/model.safetensors"));
}

// The results of transformers_reference.py.
class Reference {
 public:
  Tensor operator[](const std::string& name) const {
    const CheckpointTensor* t = file_.find(name);
    if (!t) fail("{} has no {}", file_.name(), name);
    return file_.load(*t);
  }
  NamedValues<Tensor> inputs() const {
    NamedValues<Tensor> in = bert_inputs((*this)["input_ids"]);
    in.emplace("attention_mask", (*this)["attention_mask"]);
    return in;
  }
  const Checkpoint& file() const { return file_; }

 private:
  Checkpoint file_ = Checkpoint::open(STEN_SOURCE_DIR "/tests/nn/bert.safetensors");
};

// config.json with one value changed, or added.
std::string error_with(const std::string& key, const Json& value) {
  std::ifstream in(model + "/config.json");
  Json j = Json::parse(in);
  j[key] = value;
  if (value.is_discarded()) j.erase(key);
  return error_of([&] { BertConfig::parse(j.dump()); });
}

// The rows that have a label.
Tensor labelled(const Tensor& labels) {
  const Dense l = labels.to_dense();
  std::vector<std::int64_t> at;
  for (Index i = 0; i < l.size(); ++i)
    if (l.values.as<std::int64_t>()[i] != -100) at.push_back(i);
  Dense x = Dense::zeros(DType::I64, {std::ssize(at)});
  std::ranges::copy(at, x.values.mutate<std::int64_t>().begin());
  return x;
}

}  // namespace

TEST_CASE("the shipped BERT matches the logits and the loss of transformers") {
  const Reference reference;
  const Graph g = bert(config(), {.mask = true, .loss = true});
  NamedValues<Tensor> in = reference.inputs();
  in.emplace("labels", reference["labels"]);
  const NamedValues<Tensor> y = g.run<Tensor>(weights_for(g), in);
  CHECK(far_from(reference["logits"], y.at("cls.predictions.decoder"), 1e-5) == "");
  CHECK(far_from(reference["loss"], y.at("loss"), 1e-5) == "");
  // Without training it would be log(vocabulary).
  CHECK(number(y.at("loss").to_dense(), 0) < std::log(70.0) / 3);
}

TEST_CASE("BERT gradients match those of transformers, summed for shared weights") {
  const Reference reference;
  const Graph g = bert(config(), {.mask = true, .loss = true});
  Tape tape;
  NamedValues<Var> w, in;
  for (const auto& [name, value] : weights_for(g)) w.emplace(name, tape.parameter(value));
  for (const auto& [name, value] : reference.inputs()) in.emplace(name, value);
  in.emplace("labels", reference["labels"]);
  tape.backward(g.run<Var>(w, in).at("loss"));
  int count = 0;
  for (const CheckpointTensor& t : reference.file().tensors()) {
    if (!t.name.starts_with("gradient:")) continue;
    const std::string name = t.name.substr(9);
    CAPTURE(name);
    CHECK(far_from(reference[t.name], *w.at(name).grad(), 1e-4) == "");
    ++count;
  }
  CHECK(count == 5);
}

TEST_CASE("logits and loss at selected positions match those of the full sequence") {
  const Reference reference;
  const Graph all = bert(config(), {.mask = true, .loss = true});
  const Graph some = bert(config(), {.mask = true, .selected = true, .loss = true});
  const Tensor labels = reference["labels"], at = labelled(labels);
  NamedValues<Tensor> in = reference.inputs();
  in.emplace("labels", labels);
  const NamedValues<Tensor> wanted = all.run<Tensor>(weights_for(all), in);
  const auto rows = [&](const Tensor& x, Index n) { return embedding(reshape(x, {-1, n}), at); };
  in.emplace("selected", at);
  Dense chosen = Dense::zeros(DType::I64, at.shape());
  for (Index i = 0; i < chosen.size(); ++i)
    chosen.values.mutate<std::int64_t>()[i] =
        labels.values()->as<std::int64_t>()[at.values()->as<std::int64_t>()[i]];
  in.insert_or_assign("labels", chosen);
  const Graph later =
      bert(config(), {.mask = true, .selected = true, .all_states = true, .loss = true});
  for (const Graph* g : {&some, &later}) {
    const NamedValues<Tensor> got = g->run<Tensor>(weights_for(*g), in);
    CHECK(far_from(rows(wanted.at("cls.predictions.decoder"), 70),
                   got.at("cls.predictions.decoder"), 1e-6) == "");
    CHECK(far_from(wanted.at("loss"), got.at("loss"), 1e-6) == "");
  }
}

TEST_CASE("an untied BERT head has a separate weight") {
  BertConfig c = config();
  c.ties_embeddings = false;
  const Graph tied = bert(config()), g = bert(c);
  NamedValues<Tensor> w = weights_for(tied);
  const Tensor words = w.at("bert.embeddings.word_embeddings.weight");
  const NamedValues<Tensor> in = bert_inputs(Reference()["input_ids"]);
  const Tensor logits = tied.run<Tensor>(w, in).at("cls.predictions.decoder");
  CHECK(has(error_of([&] { weights_for(g); }), "cls.predictions.decoder.weight is missing"));
  w.emplace("cls.predictions.decoder.weight", words);
  CHECK(
      same_bits(g.run<Tensor>(w, in).at("cls.predictions.decoder").to_dense(), logits.to_dense()));
  const auto twice = [](const Tensor& x) { return apply("scale", {x}, Attributes().set("by", 2)); };
  w.insert_or_assign("cls.predictions.decoder.weight", twice(words));
  w.insert_or_assign("cls.predictions.bias", twice(w.at("cls.predictions.bias")));
  CHECK(far_from(twice(logits), g.run<Tensor>(w, in).at("cls.predictions.decoder"), 1e-5) == "");
  CHECK(c.parameters() == config().parameters() + static_cast<double>(size_of(words.shape())));
}

TEST_CASE("BERT nodes have module names, and the graph round trips through JSON") {
  const Graph g = bert(config());
  for (const char* name :
       {"bert.embeddings.LayerNorm", "bert.encoder.layer.3.attention.self.query",
        "bert.encoder.layer.0.attention.self", "bert.encoder.layer.0.attention.output.dense",
        "bert.encoder.layer.0.intermediate.intermediate_act_fn", "bert.encoder.layer.2.output.add",
        "cls.predictions.transform.LayerNorm", "cls.predictions.decoder"}) {
    CAPTURE(std::string(name));
    CHECK(g.find_node(name) != nullptr);
  }
  CHECK(g.weights().size() == 74);
  CHECK(to_json(parse_graph(to_json(g))) == to_json(g));
}

TEST_CASE("an untrained BERT has about the loss of uniform predictions") {
  BertConfig c = config();
  c.num_hidden_layers = 1;
  c.activation = "relu";
  const Graph g = bert(c, {.loss = true});
  Dense ids = Dense::zeros(DType::I64, {2, 9}), labels = Dense::zeros(DType::I64, {2, 9});
  for (Index i = 0; i < 18; ++i) labels.values.mutate<std::int64_t>()[i] = i;
  NamedValues<Tensor> in = bert_inputs(ids);
  in.emplace("labels", labels);
  const double loss = number(g.run<Tensor>(initial_weights(g, 3), in).at("loss").to_dense(), 0);
  CHECK(std::abs(loss - std::log(70.0)) < 1);
}

TEST_CASE("a BERT config determines the head and the class names") {
  std::ifstream in(model + "/config.json");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  CHECK(config().head == BertHead::words);
  const std::string named = with_labels(text, BertHead::sequence, {"no", "yes", "so"});
  const BertConfig c = BertConfig::parse(named);
  CHECK(c.head == BertHead::sequence);
  CHECK(BertConfig::parse(with_labels(text, BertHead::none, {})).head == BertHead::none);
  CHECK(c.labels == std::vector<std::string>{"no", "yes", "so"});
  CHECK(Json::parse(named)["label2id"]["so"] == 2);
  CHECK(c.hidden_size == config().hidden_size);
  CHECK(config().classes() == 2);
  const auto of = [&](const char* name) {
    Json json = Json::parse(text);
    json["architectures"] = {name};
    return BertConfig::parse(json.dump());
  };
  CHECK(of("BertForPreTraining").unknown_class.empty());
  CHECK(of("BertForQuestionAnswering").unknown_class == "BertForQuestionAnswering");
  CHECK(error_with("id2label", Json{{"0", "a"}, {"2", "b"}}) ==
        "config: /id2label: has 2 labels but no label for the id 1");
  // The logits of each head; weights of other models that a head does not use are ignored.
  for (const auto& [head, shape] :
       {std::pair(BertHead::sequence, Shape{2, 3}), {BertHead::tokens, Shape{2, 5, 3}}}) {
    const Graph g = bert(c, {.head = head, .classes = 3});
    const NamedValues<Tensor> w = load_weights(g, Checkpoint::open(model + "/model.safetensors"),
                                               bert_unused(head), bert_new(head));
    CHECK(w.size() == g.weights().size() - (head == BertHead::sequence ? 4 : 2));
    NamedValues<Tensor> all = initial_weights(g, 3);
    for (const auto& [name, x] : w) all.insert_or_assign(name, x);
    const NamedValues<Tensor> y = g.run<Tensor>(all, bert_inputs(Dense::zeros(DType::I64, {2, 5})));
    CHECK(y.at("classifier").shape() == shape);
  }
}

TEST_CASE("a BERT without a head outputs the hidden states that heads use") {
  Dense ids = Dense::zeros(DType::I64, {2, 3});
  for (Index i = 0; i < 6; ++i) ids.values.mutate<std::int64_t>()[i] = 10 * i;
  const NamedValues<Tensor> in = bert_inputs(ids);
  const Graph g = bert(config(), {.head = BertHead::none, .pooler = true});
  CHECK(g.outputs() == std::vector<std::string>{"last_hidden_state", "pooler_output"});
  for (const auto& [head, state] :
       {std::pair(BertHead::sequence, "pooler_output"), {BertHead::tokens, "last_hidden_state"}}) {
    const Graph classifier = bert(config(), {.head = head, .classes = 3});
    const NamedValues<Tensor> all = initial_weights(classifier, 4);
    NamedValues<Tensor> w = initial_weights(g, 3);
    for (auto& [name, x] : w)
      if (all.contains(name)) x = all.at(name);
    const Tensor y = g.run<Tensor>(w, in).at(state);
    const Tensor logits =
        apply("linear", {y, all.at("classifier.weight"), all.at("classifier.bias")});
    CHECK(far_from(classifier.run<Tensor>(all, in).at("classifier"), logits, 1e-6) == "");
  }
}

TEST_CASE("a BERT without a head loads weights whose names lack the bert. prefix") {
  const TempDir dir;
  for (const bool has_pooler : {false, true}) {
    const Graph g = bert(config(), {.head = BertHead::none, .pooler = has_pooler});
    const NamedValues<Tensor> w = initial_weights(g, 3);
    NamedTensors stored{{"embeddings.position_ids", Dense::zeros(DType::I64, {1, 4})}};
    for (const auto& [name, x] : w) stored.emplace(name.substr(5), x);
    save_tensors(dir / "w.safetensors", stored, true);
    const NamedValues<Tensor> back =
        load_weights(g, Checkpoint::open(dir / "w.safetensors"), bert_unused(BertHead::none));
    CHECK(back.size() == w.size());
    CHECK(back.contains("bert.embeddings.word_embeddings.weight"));
  }
}

TEST_CASE("an incomplete or unsupported BERT config is rejected with its key") {
  CHECK(config().num_attention_heads == 5);
  CHECK(config().initializer_range == 0.07);
  CHECK(error_with("hidden_dropout_prob", 0.1) == "");
  CHECK(error_with("something_else", 1) == "");
  CHECK(error_with("hidden_size", Json(Json::value_t::discarded)) ==
        "config: missing 'hidden_size'");
  CHECK(error_with("hidden_size", "160") == "config: /hidden_size: expected an integer, got '160'");
  CHECK(error_with("vocab_size", 0) == "config: /vocab_size: expected an integer >= 1, got 0");
  CHECK(error_with("num_hidden_layers", 1000000) ==
        "config: /num_hidden_layers: expected at most 10000, got 1000000");
  CHECK(error_with("num_attention_heads", 7) ==
        "config: /num_attention_heads: expected a divisor of hidden_size 160, got 7");
  CHECK(error_with("hidden_act", "laplace") ==
        "config: /hidden_act: unknown activation 'laplace' (expected one of gelu, gelu_python, "
        "gelu_pytorch_tanh, gelu_new, gelu_fast, gelu_accurate, relu, silu, swish, tanh)");
  CHECK(error_with("hidden_act", "gelu_new") == "");
  CHECK(error_with("model_type", "roberta") ==
        "config: /model_type: expected one of " + known_model_types() + ", got \"roberta\"");
  // The error is about the model type, not about missing keys.
  CHECK_THROWS_WITH(
      BertConfig::parse(R"({"model_type": "distilbert", "dim": 768})"),
      ("config: /model_type: expected one of " + known_model_types() + ", got \"distilbert\"")
          .c_str());
  CHECK(error_with("position_embedding_type", "relative_key") ==
        "config: /position_embedding_type: expected \"absolute\", got \"relative_key\"");
  CHECK(error_with("tie_word_embeddings", 1) ==
        "config: /tie_word_embeddings: expected true or false, got 1");
  CHECK(error_with("layer_norm_eps", -1) ==
        "config: /layer_norm_eps: expected a number > 0, got -1");
}
