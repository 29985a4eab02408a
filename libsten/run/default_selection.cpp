#include "libsten/run/default_selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "libsten/io/tensor_use.h"
#include "libsten/run/head_names.h"
#include "libsten/run/tied.h"

namespace sten {
namespace {

bool has_embedding_name(const ModuleName& name) {
  if (name.is_layer()) return false;
  // An embedder of words has a table; those of images, time and text as vectors are linear.
  if (name.words.back() == "embedder" && name.words.size() > 1)
    return name.has_word({"token", "word", "position"});
  return name.own.find("embed") != std::string_view::npos ||
         name.has_word({"emb", "embs", "wte", "wpe"}) || name.own == "shared";
}

bool is_router(const TensorInfo& t, const ModuleName& name) {
  if (std::find(name.path.begin(), name.path.end(), "router") != name.path.end()) return true;
  if (t.shape.size() != 2 || name.words.back() != "gate") return false;
  // One output for each expert; the gate of an MLP has about as many outputs as inputs or more.
  return 4 * t.shape[t.in_by_out ? 1 : 0] <= t.shape[t.in_by_out ? 0 : 1];
}

Spared judge(const TensorInfo& t, const ModuleName& name) {
  const std::size_t rank = t.shape.size();
  if (!is_prunable(t.dtype)) return Spared::dtype;
  if (rank < 2) return Spared::rank;
  if (t.use == TensorUse::table) return Spared::embedding;
  if (t.use == TensorUse::other) return Spared::use;
  if (t.use == TensorUse::unknown && !t.name.ends_with("weight")) {
    // The linear layers of all experts in one tensor.
    const bool fused = rank == 3 && name.path.size() > 1 &&
                       name.path[name.path.size() - 2] == "experts" && !name.has_word({"bias"});
    return fused ? Spared::no : Spared::name;
  }
  if (is_fixed_basis(t.name) || is_fixed_basis(name.text)) return Spared::basis;
  if (is_router(t, name)) return Spared::router;
  // The graph knows better than a name.
  if (t.use == TensorUse::head) return Spared::head;
  if (t.use == TensorUse::weight) return Spared::no;
  // RAFT has convolutions called convnormrelu.
  if (!name.is_layer() && name.own.find("conv") == std::string_view::npos &&
      (name.own.find("norm") != std::string_view::npos || name.has_word({"ln"})))
    return Spared::norm;
  if (name.has_word({"bias"})) return Spared::bias;
  if (has_head_name(name)) return Spared::head;
  // With more dimensions it is the convolution that cuts an image into patches.
  if (has_embedding_name(name) && (rank == 2 || t.shape[0] == 1)) return Spared::embedding;
  return Spared::no;
}

}  // namespace

std::string_view reason(Spared why) {
  switch (why) {
    case Spared::no:
      return "";
    case Spared::embedding:
      return "embedding";
    case Spared::head:
      return "output head";
    case Spared::tied:
      return "tied to an embedding";
    case Spared::router:
      return "router";
    case Spared::bias:
      return "table of biases";
    case Spared::norm:
      return "norm";
    case Spared::basis:
      return "fixed basis";
    case Spared::name:
      return "no weight by its name";
    case Spared::use:
      return "nothing is multiplied with it";
    case Spared::convolution:
      return "convolution, not calibrated";
    case Spared::rank:
      return "rank below 2";
    case Spared::dtype:
      return "not floating point";
    case Spared::excluded:
      return "excluded";
    case Spared::keep:
      return "kept by a rule";
  }
  return "";
}

std::string_view reasons(Spared why) {
  switch (why) {
    case Spared::embedding:
      return "embeddings";
    case Spared::head:
      return "output heads";
    case Spared::router:
      return "routers";
    case Spared::bias:
      return "tables of biases";
    case Spared::norm:
      return "norms";
    case Spared::basis:
      return "fixed bases";
    case Spared::name:
      return "no weights by name";
    case Spared::use:
      return "that nothing is multiplied with";
    case Spared::convolution:
      return "convolutions, not calibrated";
    case Spared::rank:
      return "of rank below 2";
    default:
      return reason(why);
  }
}

std::vector<Spared> spared(const std::vector<const TensorInfo*>& model) {
  std::vector<std::unique_ptr<ModuleName>> names;
  std::vector<Spared> why;
  for (const TensorInfo* t : model) {
    names.push_back(std::make_unique<ModuleName>(t->module.empty() ? t->name : t->module));
    why.push_back(judge(*t, *names.back()));
  }
  std::vector<std::size_t> named;
  for (std::size_t i = 0; i < model.size(); ++i)
    if (why[i] == Spared::head && model[i]->use == TensorUse::unknown) named.push_back(i);
  const std::vector<bool> heads = last_of_heads(model, names, named);
  for (const std::size_t i : named)
    if (!heads[i]) why[i] = Spared::no;
  // What has the shape of the vocabulary's table and is in no numbered layer maps back to it.
  const TensorInfo* vocabulary = nullptr;
  for (std::size_t i = 0; i < model.size(); ++i)
    if (why[i] == Spared::embedding && model[i]->shape.size() == 2 &&
        (!vocabulary || model[i]->shape[0] > vocabulary->shape[0]))
      vocabulary = model[i];
  for (std::size_t i = 0; vocabulary && i < model.size(); ++i)
    if (why[i] == Spared::no && model[i]->use == TensorUse::unknown &&
        model[i]->shape == vocabulary->shape && !names[i]->has_number)
      why[i] = Spared::head;
  return why;
}

std::vector<Spared> spared(const Checkpoint& c) {
  std::vector<const TensorInfo*> model;
  for (const CheckpointTensor& t : c.tensors()) model.push_back(&t);
  std::vector<Spared> why = spared(model);
  std::vector<std::size_t> alike;  // embeddings first, so that they are what others equal
  for (std::size_t i = 0; i < why.size(); ++i)
    if (why[i] == Spared::embedding) alike.push_back(i);
  const std::vector<std::size_t> embeddings = alike;
  // So that many equal matrices take no time beyond their size.
  constexpr std::size_t most_compared = 16;
  for (std::size_t i = 0; i < why.size(); ++i) {
    const auto same_shape = [&](std::size_t e) {
      return model[e]->shape == model[i]->shape && model[e]->dtype == model[i]->dtype;
    };
    const auto is_transposed = [&](std::size_t e) {
      return equals_transposed(c, c.tensors()[i], c.tensors()[e]);
    };
    if (why[i] != Spared::no) continue;
    const std::size_t compared = std::min(embeddings.size(), most_compared);
    if (std::any_of(embeddings.begin(), embeddings.begin() + static_cast<std::ptrdiff_t>(compared),
                    is_transposed))
      why[i] = Spared::tied;
    else if (std::ranges::any_of(embeddings, same_shape))
      alike.push_back(i);
  }
  if (alike.size() == embeddings.size()) return why;
  const std::vector<std::size_t> first = first_equals(c, alike);
  for (std::size_t k = embeddings.size(); k < alike.size(); ++k)
    if (why[first[alike[k]]] == Spared::embedding) why[alike[k]] = Spared::tied;
  return why;
}

std::string left_alone(const std::vector<Spared>& why) {
  std::map<Spared, Index> counts;
  for (const Spared s : why)
    if (s != Spared::no) ++counts[s];
  std::string text;
  for (const auto& [s, n] : counts)
    text += fmt::format("{}{} {}", text.empty() ? "left alone: " : ", ", n,
                        n == 1 && s != Spared::rank && s != Spared::use ? reason(s) : reasons(s));
  return text;
}

}  // namespace sten
