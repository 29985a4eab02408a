// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/rewrite/default_selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "libsten/files/tensors/tensor_use.h"
#include "libsten/programs/rewrite/head_names.h"
#include "libsten/programs/rewrite/tied.h"

namespace sten {
namespace {

bool has_embedding_name(const ModuleName& name) {
  if (name.is_layer()) return false;
  // A word embedder has a table; embedders of images, time and text vectors are linear.
  if (name.words.back() == "embedder" && name.words.size() > 1)
    return name.has_word({"token", "word", "position"});
  return name.own.find("embed") != std::string_view::npos ||
         name.has_word({"emb", "embs", "wte", "wpe"}) || name.own == "shared";
}

bool is_router(const TensorInfo& t, const ModuleName& name) {
  if (std::find(name.path.begin(), name.path.end(), "router") != name.path.end()) return true;
  if (t.shape.size() != 2 || name.words.back() != "gate") return false;
  // A router has one output per expert; the gate of an MLP has at least about as many outputs as
  // inputs.
  return 4 * t.shape[t.in_by_out ? 1 : 0] <= t.shape[t.in_by_out ? 0 : 1];
}

bool is_expert_stack(const TensorInfo& t, const ModuleName& name) {
  return t.use == TensorUse::unknown && t.shape.size() == 3 && !t.name.ends_with("weight") &&
         name.path.size() > 1 && name.path[name.path.size() - 2] == "experts" &&
         !name.has_word({"bias"});
}

SkipReason judge(const TensorInfo& t, const ModuleName& name) {
  const std::size_t rank = t.shape.size();
  if (!is_prunable(t.dtype)) return SkipReason::dtype;
  if (rank < 2) return SkipReason::rank;
  if (t.use == TensorUse::table) return SkipReason::embedding;
  if (t.use == TensorUse::other) return SkipReason::use;
  if (t.use == TensorUse::unknown && !t.name.ends_with("weight"))
    return is_expert_stack(t, name) ? SkipReason::no : SkipReason::name;
  if (is_fixed_basis(t.name) || is_fixed_basis(name.text)) return SkipReason::basis;
  if (is_router(t, name)) return SkipReason::router;
  // The graph is more reliable than a name.
  if (t.use == TensorUse::head) return SkipReason::head;
  if (t.use == TensorUse::weight) return SkipReason::no;
  // RAFT has convolutions called convnormrelu.
  if (!name.is_layer() && name.own.find("conv") == std::string_view::npos &&
      (name.own.find("norm") != std::string_view::npos || name.has_word({"ln"})))
    return SkipReason::norm;
  if (name.has_word({"bias"})) return SkipReason::bias;
  if (has_head_name(name)) return SkipReason::head;
  // A tensor of higher rank is the convolution that cuts an image into patches.
  if (has_embedding_name(name) && (rank == 2 || t.shape[0] == 1)) return SkipReason::embedding;
  return SkipReason::no;
}

std::string_view name_of(const TensorInfo& t) { return t.module.empty() ? t.name : t.module; }

}  // namespace

bool is_expert_stack(const TensorInfo& t) { return is_expert_stack(t, ModuleName(name_of(t))); }

std::string_view reason(SkipReason why) {
  switch (why) {
    case SkipReason::no:
      return "";
    case SkipReason::embedding:
      return "embedding";
    case SkipReason::head:
      return "output head";
    case SkipReason::tied:
      return "tied to an embedding";
    case SkipReason::router:
      return "router";
    case SkipReason::bias:
      return "table of biases";
    case SkipReason::norm:
      return "norm";
    case SkipReason::basis:
      return "fixed basis";
    case SkipReason::name:
      return "no weight by its name";
    case SkipReason::use:
      return "nothing is multiplied with it";
    case SkipReason::convolution:
      return "convolution, not calibrated";
    case SkipReason::experts:
      return "stack of experts, not calibrated";
    case SkipReason::rank:
      return "rank below 2";
    case SkipReason::dtype:
      return "not floating point";
    case SkipReason::excluded:
      return "excluded";
    case SkipReason::keep:
      return "kept by a rule";
  }
  return "";
}

std::string_view reasons(SkipReason why) {
  switch (why) {
    case SkipReason::embedding:
      return "embeddings";
    case SkipReason::head:
      return "output heads";
    case SkipReason::router:
      return "routers";
    case SkipReason::bias:
      return "tables of biases";
    case SkipReason::norm:
      return "norms";
    case SkipReason::basis:
      return "fixed bases";
    case SkipReason::name:
      return "no weights by name";
    case SkipReason::use:
      return "that nothing is multiplied with";
    case SkipReason::convolution:
      return "convolutions, not calibrated";
    case SkipReason::experts:
      return "stacks of experts, not calibrated";
    case SkipReason::rank:
      return "of rank below 2";
    default:
      return reason(why);
  }
}

std::vector<SkipReason> skip_reasons(const std::vector<const TensorInfo*>& model) {
  std::vector<std::unique_ptr<ModuleName>> names;
  std::vector<SkipReason> why;
  for (const TensorInfo* t : model) {
    names.push_back(std::make_unique<ModuleName>(name_of(*t)));
    why.push_back(judge(*t, *names.back()));
  }
  std::vector<std::size_t> named;
  for (std::size_t i = 0; i < model.size(); ++i)
    if (why[i] == SkipReason::head && model[i]->use == TensorUse::unknown) named.push_back(i);
  const std::vector<bool> heads = last_of_heads(model, names, named);
  for (const std::size_t i : named)
    if (!heads[i]) why[i] = SkipReason::no;
  // A tensor outside of numbered layers with the shape of the vocabulary's table is the head.
  const TensorInfo* vocabulary = nullptr;
  for (std::size_t i = 0; i < model.size(); ++i)
    if (why[i] == SkipReason::embedding && model[i]->shape.size() == 2 &&
        (!vocabulary || model[i]->shape[0] > vocabulary->shape[0]))
      vocabulary = model[i];
  for (std::size_t i = 0; vocabulary && i < model.size(); ++i)
    if (why[i] == SkipReason::no && model[i]->use == TensorUse::unknown &&
        model[i]->shape == vocabulary->shape && !names[i]->has_number)
      why[i] = SkipReason::head;
  return why;
}

std::vector<SkipReason> skip_reasons(const Checkpoint& c) {
  std::vector<const TensorInfo*> model;
  for (const CheckpointTensor& t : c.tensors()) model.push_back(&t);
  std::vector<SkipReason> why = skip_reasons(model);
  std::vector<std::size_t> alike;  // embeddings first, so that other tensors are compared with them
  for (std::size_t i = 0; i < why.size(); ++i)
    if (why[i] == SkipReason::embedding) alike.push_back(i);
  const std::vector<std::size_t> embeddings = alike;
  // Bounds the comparisons among many equal matrices.
  constexpr std::size_t most_compared = 16;
  for (std::size_t i = 0; i < why.size(); ++i) {
    const auto same_shape = [&](std::size_t e) {
      return model[e]->shape == model[i]->shape && model[e]->dtype == model[i]->dtype;
    };
    const auto is_transposed = [&](std::size_t e) {
      return equals_transposed(c, c.tensors()[i], c.tensors()[e]);
    };
    if (why[i] != SkipReason::no) continue;
    const std::size_t compared = std::min(embeddings.size(), most_compared);
    if (std::any_of(embeddings.begin(), embeddings.begin() + static_cast<std::ptrdiff_t>(compared),
                    is_transposed))
      why[i] = SkipReason::tied;
    else if (std::ranges::any_of(embeddings, same_shape))
      alike.push_back(i);
  }
  if (alike.size() == embeddings.size()) return why;
  const std::vector<std::size_t> first = first_equals(c, alike);
  for (std::size_t k = embeddings.size(); k < alike.size(); ++k)
    if (why[first[alike[k]]] == SkipReason::embedding) why[alike[k]] = SkipReason::tied;
  return why;
}

std::string left_alone(const std::vector<SkipReason>& why) {
  std::map<SkipReason, Index> counts;
  for (const SkipReason s : why)
    if (s != SkipReason::no) ++counts[s];
  std::string text;
  for (const auto& [s, n] : counts)
    text += fmt::format(
        "{}{} {}", text.empty() ? "left alone: " : ", ", n,
        n == 1 && s != SkipReason::rank && s != SkipReason::use ? reason(s) : reasons(s));
  return text;
}

}  // namespace sten
