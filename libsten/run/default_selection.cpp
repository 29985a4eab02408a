#include "libsten/run/default_selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "libsten/run/tied.h"

namespace sten {
namespace {

using Words = std::vector<std::string_view>;

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return out;
}

Words split(std::string_view text, char separator) {
  Words words;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(separator, at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

// A name in lower case, without its last part where that is "weight": modules, the last of which
// has the tensor.
struct ModuleName {
  std::string text;
  Words path;            // its parts
  std::string_view own;  // the last that is no number, without "_weight"
  Words words;           // of `own`, without the digits at their ends
  bool has_number = false;

  explicit ModuleName(std::string_view name) : text(lower(name)), path(split(text, '.')) {
    if (path.size() > 1 && path.back() == "weight") path.pop_back();
    for (const std::string_view part : path) {
      has_number |= is_number(part);
      if (!is_number(part)) own = part;
    }
    if (own.ends_with("_weight")) own.remove_suffix(7);
    words = split(own, '_');
    for (std::string_view& word : words)
      while (!word.empty() && word.back() >= '0' && word.back() <= '9') word.remove_suffix(1);
  }
  // Deleted: the views are of its own text.
  ModuleName(const ModuleName&) = delete;
  ModuleName& operator=(const ModuleName&) = delete;

  bool has_word(std::initializer_list<std::string_view> any) const {
    return std::any_of(words.begin(), words.end(),
                       [&](std::string_view w) { return is_one_of(w, any); });
  }
  // A layer that maps vectors, whatever it is for.
  bool is_layer() const {
    return has_word({"linear", "proj", "project", "projection", "mapping", "conv", "convolution",
                     "dense", "fc", "mlp"});
  }
};

bool is_head_word(std::string_view part) {
  return is_one_of(part, {"classifier", "score", "qa_outputs", "seq_relationship"}) ||
         part.ends_with("_head") || (part.ends_with("_classifier") && part != "pre_classifier");
}

// Layers that only a whole model has directly.
bool is_last_layer(const ModuleName& name) {
  const bool direct = name.path.size() == 1 ||
                      (name.path.size() == 2 && is_one_of(name.path[0], {"model", "module"}));
  return direct && is_one_of(name.path.back(), {"output", "fc", "proj_out", "embed_out"});
}

// The name of the module a number counts in: "classifier" of "classifier.6"; "" without one.
std::string_view list_of(const ModuleName& name) {
  if (!is_number(name.path.back())) return "";
  return std::string_view(name.text).substr(
      0, static_cast<std::size_t>(name.path.back().data() - name.text.data()));
}

Index number_of(const ModuleName& name) {
  Index n = 0;
  for (const char c : name.path.back().substr(0, 9)) n = 10 * n + (c - '0');
  return n;
}

bool has_embedding_name(const ModuleName& name) {
  if (name.is_layer()) return false;
  // An embedder of words has a table; those of images, time and text as vectors are linear.
  if (name.words.back() == "embedder" && name.words.size() > 1)
    return name.has_word({"token", "word", "position"});
  return name.own.find("embed") != std::string_view::npos ||
         name.has_word({"emb", "embs", "wte", "wpe"}) || name.own == "shared";
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
  if (!name.is_layer() &&
      (name.own.find("norm") != std::string_view::npos || name.has_word({"ln"})))
    return Spared::norm;
  if (name.has_word({"bias"})) return Spared::bias;
  const auto is_router = [](std::string_view part) { return part == "router"; };
  // One row for each expert; the gate of an MLP has about as many rows as columns or more.
  if (std::any_of(name.path.begin(), name.path.end(), is_router) ||
      (rank == 2 && name.words.back() == "gate" && 4 * t.shape[0] <= t.shape[1]))
    return Spared::router;
  if (std::any_of(name.path.begin(), name.path.end(), is_head_word) || is_last_layer(name) ||
      name.path[0] == "head" || name.own == "head")
    return Spared::head;
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
  // Of a numbered sequence only the last is the head: the layers before it are hidden.
  std::map<std::string_view, Index> last;
  const auto is_numbered_head = [&](std::size_t i) {
    return why[i] == Spared::head && is_number(names[i]->path.back());
  };
  for (std::size_t i = 0; i < model.size(); ++i)
    if (is_numbered_head(i)) {
      Index& most = last[list_of(*names[i])];
      most = std::max(most, number_of(*names[i]));
    }
  for (std::size_t i = 0; i < model.size(); ++i)
    if (is_numbered_head(i) && number_of(*names[i]) < last[list_of(*names[i])]) why[i] = Spared::no;
  // What has the shape of the vocabulary's table and is in no numbered layer maps back to it.
  const TensorInfo* vocabulary = nullptr;
  for (std::size_t i = 0; i < model.size(); ++i)
    if (why[i] == Spared::embedding && model[i]->shape.size() == 2 &&
        (!vocabulary || model[i]->shape[0] > vocabulary->shape[0]))
      vocabulary = model[i];
  for (std::size_t i = 0; vocabulary && i < model.size(); ++i)
    if (why[i] == Spared::no && model[i]->shape == vocabulary->shape && !names[i]->has_number)
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
  const std::size_t embeddings = alike.size();
  for (std::size_t i = 0; i < why.size(); ++i) {
    const auto same_form = [&](std::size_t e) {
      return model[e]->shape == model[i]->shape && model[e]->dtype == model[i]->dtype;
    };
    if (why[i] == Spared::no &&
        std::any_of(alike.begin(), alike.begin() + static_cast<std::ptrdiff_t>(embeddings),
                    same_form))
      alike.push_back(i);
  }
  if (alike.size() == embeddings) return why;
  const std::vector<std::size_t> first = first_equals(c, alike);
  for (std::size_t k = embeddings; k < alike.size(); ++k)
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
