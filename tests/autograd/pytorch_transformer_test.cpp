// SPDX-License-Identifier: Apache-2.0
// A small BERT in user code: its loss and the gradients of its weights equal PyTorch's.
#include <doctest/doctest.h>

#include <map>

#include "libsten/compute/autograd/tape.h"
#include "libsten/compute/ops/common/operators.h"
#include "tests/autograd/pytorch.h"
#include "tests/support/parts.h"

using namespace sten;
using namespace sten::testing;

namespace {

// T is Var for training, Tensor for inference.
template <class T>
class Bert {
 public:
  Bert(Json config, std::map<std::string, T> weights)
      : config_(std::move(config)), weights_(std::move(weights)) {}

  // ids and targets [sequences, tokens]; the mask is added to [sequences, heads, tokens, tokens].
  T loss(const Tensor& ids, const Tensor& mask, const Tensor& targets) const {
    T x = embedding(weight("embedding.token"), ids);
    x = norm(add(x, weight("embedding.position")), "embedding.norm");
    for (int i = 0; i < config_.at("layers"); ++i) {
      const std::string layer = "layer." + std::to_string(i);
      x = norm(add(x, attention(x, mask, layer + ".attention")), layer + ".attention.norm");
      const T up = gelu(project(x, layer + ".up"));
      x = norm(add(x, project(up, layer + ".down")), layer + ".output.norm");
    }
    const T logits = reshape(project(x, "head"), {-1, number_of("vocabulary")});
    return cross_entropy(logits, reshape(targets, {-1}), number_of("ignore"));
  }

 private:
  T attention(const T& x, const Tensor& mask, const std::string& name) const {
    const Index sequences = number_of("sequences"), tokens = number_of("tokens"),
                heads = number_of("heads"), hidden = number_of("hidden");
    const auto split = [&](const std::string& of) {  // [sequences, heads, tokens, hidden / heads]
      const T y = project(x, name + of);
      return transpose(reshape(y, {sequences, tokens, heads, -1}), {0, 2, 1, 3});
    };
    const T q = split(".query"), k = split(".key"), v = split(".value");
    const T scores = scale(matmul(q, transpose(k)), 1 / std::sqrt(hidden / heads));
    const T seen = matmul(softmax(add(scores, mask)), v);
    const T joined = reshape(transpose(seen, {0, 2, 1, 3}), {sequences, tokens, hidden});
    return project(joined, name + ".output");
  }
  T project(const T& x, const std::string& name) const {
    return linear(x, weight(name + ".weight"), weight(name + ".bias"));
  }
  T norm(const T& x, const std::string& name) const {
    return layer_norm(x, weight(name + ".gamma"), weight(name + ".beta"), config_.at("eps"));
  }
  const T& weight(const std::string& name) const { return weights_.at(name); }
  Index number_of(const char* key) const { return config_.at(key); }

  Json config_;
  std::map<std::string, T> weights_;
};

using Tensors = std::map<std::string, Tensor>;

Tensors weights_of(const PyTorch& file) {
  Tensors weights;
  for (const std::string& name : file.names("weight:"))
    weights.emplace(name, file["weight:" + name]);
  return weights;
}

struct Trained {
  Tensor loss;
  Tensors gradients;
};

Trained train(const PyTorch& file, const Tensors& weights) {
  Tape tape;
  std::map<std::string, Var> parameters;
  for (const auto& [name, w] : weights) parameters.emplace(name, tape.parameter(w));
  const Bert<Var> bert(file.metadata("config"), parameters);
  const Var loss = bert.loss(file["ids"], file["mask"], file["targets"]);
  tape.backward(loss);
  Trained t{loss.value(), {}};
  for (const auto& [name, w] : parameters) t.gradients.emplace(name, w.grad().value());
  return t;
}

// Compares relative to the weight's largest gradient. Gradients of the keys' biases are 0 except
// for rounding.
std::string far_gradient(const std::string& name, const Tensor& want, const Tensor& got) {
  return far_from(want, got, 1e-4, name.ends_with("attention.key.bias") ? 0.01 : 0);
}

bool is_pruned(const std::string& name) {
  return name.starts_with("layer.") && name.ends_with(".weight");
}

// Two of any four neighbours in a row.
Mask two_of_four(const Dense& x) {
  Mask m = Mask::none(x.extents);
  for (Index i = 0; i < x.size(); ++i) m.set(i, i % 4 == i / 4 % 3 || i % 4 == 3);
  return m;
}

}  // namespace

TEST_CASE("the loss of a transformer and the gradients of all its weights match PyTorch's") {
  const PyTorch file("transformer");
  const Trained t = train(file, weights_of(file));
  CHECK(far_from(file["loss"], t.loss, 1e-5) == "");
  CHECK(t.gradients.size() == 38);
  for (const auto& g : t.gradients) {
    const std::string name = g.first;
    CAPTURE(name);
    CHECK(far_gradient(name, file["gradient:" + name], g.second) == "");
  }
}

TEST_CASE("the loss of a transformer computed without a tape matches PyTorch's") {
  const PyTorch file("transformer");
  const Bert<Tensor> bert(file.metadata("config"), weights_of(file));
  CHECK(far_from(file["loss"], bert.loss(file["ids"], file["mask"], file["targets"]), 1e-5) == "");
}

TEST_CASE(
    "sparse weights give the loss of their dense form, and its gradients at stored positions") {
  const PyTorch file("transformer");
  Tensors dense = weights_of(file);
  for (auto& [name, w] : dense)
    if (is_pruned(name)) w = masked_by(w.to_dense(), two_of_four(w.to_dense()));
  const Trained want = train(file, dense);
  CHECK(far_from(file["loss"], want.loss, 1e-3) != "");
  for (const char* layout : {"masked", "bitmask", "csr", "csc", "coo", "ell", "bcsr:h=4,w=4",
                             "bcsr:h=1,w=2", "nm:n=2,m=4"}) {
    CAPTURE(layout);
    Tensors sparse = dense;
    for (auto& [name, w] : sparse)
      if (is_pruned(name)) w = packed(w.to_dense(), two_of_four(w.to_dense()), layout);
    const Trained got = train(file, sparse);
    CHECK(far_from(want.loss, got.loss, 1e-5) == "");
    for (const auto& w : sparse) {
      const std::string name = w.first;
      CAPTURE(name);
      Dense g = want.gradients.at(name).to_dense();
      if (is_pruned(name)) g = masked_by(g, w.second.stored());
      CHECK(got.gradients.at(name).layout() == w.second.layout());
      CHECK(far_gradient(name, g, got.gradients.at(name)) == "");
    }
  }
}
