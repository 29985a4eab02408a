// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/graph/sparsity_builder.h"

#include <algorithm>

#include "libsten/core/base/name_pattern.h"
#include "libsten/core/base/text.h"
#include "libsten/model/graph/format_json.h"

namespace sten {
namespace {

using Json = nlohmann::ordered_json;

// The names of one kind.
struct Candidates {
  const char* one;
  const char* several;
  std::vector<std::string> names;
};

std::string first_names(const std::vector<std::string>& names) {
  constexpr std::size_t most = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, names.size()); ++i)
    text += (i ? ", " : "") + quote(names[i]);
  return names.size() > most ? fmt::format("{} and {} more", text, names.size() - most) : text;
}

void check_format(const OutFormat& f) {
  registry().check_layout(f.tmp);
  registry().check_layout(f.layout);
}

}  // namespace

// Matches entries with a graph, and collects their errors.
class SparsityMatch {
 public:
  explicit SparsityMatch(const Graph& g) : graph_(g) {
    for (const Weight& w : g.weights()) weights_.names.push_back(w.name);
    for (const Node& n : g.nodes()) interms_.names.push_back(n.name);
  }

  // Calls f(index of the weight, format). `setter`: the function of the entries; `other_setter`:
  // the same for intermediates.
  template <class T, class F>
  void weights(const char* setter, const char* other_setter,
               const SparsityBuilder::Entries<T>& entries, F&& f) {
    each(setter, entries, weights_, interms_, other_setter, f);
  }
  // Calls f(index of the node, format).
  template <class F>
  void interms(const char* setter, const char* other_setter,
               const SparsityBuilder::Entries<OutFormat>& entries, F&& f) {
    each(setter, entries, interms_, weights_, other_setter, f);
  }

  void check() const {
    if (!problem_.empty()) fail_usage("the sparsity does not fit the graph:{}", problem_);
  }

 private:
  template <class T, class F>
  void each(const char* setter, const SparsityBuilder::Entries<T>& entries, const Candidates& kind,
            const Candidates& other, const char* other_setter, F&& f) {
    std::vector<const std::string*> meant_by(kind.names.size());
    for (const auto& [pattern, format] : entries) {
      const NamePattern p(pattern);
      bool any = false;
      // Reports the duplicates of a previous entry in one line.
      std::vector<std::pair<const std::string*, std::vector<std::string>>> doubly;
      for (std::size_t i = 0; i < kind.names.size(); ++i) {
        if (!p.matches(kind.names[i])) continue;
        any = true;
        if (!meant_by[i]) {
          meant_by[i] = &pattern;
          f(i, format);
          continue;
        }
        auto at = std::ranges::find(doubly, meant_by[i], [](const auto& d) { return d.first; });
        if (at == doubly.end()) at = doubly.insert(at, {meant_by[i], {}});
        at->second.push_back(kind.names[i]);
      }
      for (const auto& [before, names] : doubly)
        problem_ += fmt::format("\n  {0} {1} and {0} {2} both mean {3}", setter, quote(*before),
                                quote(pattern), first_names(names));
      if (!any)
        problem_ += fmt::format("\n  {} {} {}", setter, quote(pattern),
                                p.is_literal() ? reason(pattern, kind, other, other_setter)
                                               : reason(p, pattern, kind, other, other_setter));
    }
  }

  // The reason why a name is not of the kind.
  std::string reason(const std::string& name, const Candidates& kind, const Candidates& other,
                     const char* other_setter) const {
    if (std::ranges::find(other.names, name) != other.names.end())
      return fmt::format("is {}, which {} is for", other.one, other_setter);
    if (std::ranges::find(graph_.inputs(), name) != graph_.inputs().end())
      return fmt::format("is an input of the graph, not {}", kind.one);
    for (const Weight& w : graph_.weights())
      if (std::ranges::find(w.aliases, name) != w.aliases.end())
        return "is another name of weight " + quote(w.name);
    return none(name, kind);
  }
  // The reason why a pattern matches nothing.
  std::string reason(const NamePattern& p, const std::string& pattern, const Candidates& kind,
                     const Candidates& other, const char* other_setter) const {
    std::vector<std::string> others;
    for (const std::string& name : other.names)
      if (p.matches(name)) others.push_back(name);
    if (others.empty()) return none(pattern, kind);
    return fmt::format("matches no {}, but {}, which {} is for", kind.several, first_names(others),
                       other_setter);
  }
  static std::string none(const std::string& pattern, const Candidates& kind) {
    if (kind.names.empty())
      return fmt::format("matches nothing: the graph has no {}", kind.several);
    return fmt::format("matches none of the {} {}; the nearest: {}", kind.names.size(),
                       kind.several, first_names(nearest(pattern, kind.names, 3)));
  }

  const Graph& graph_;
  Candidates weights_{"a weight", "weights", {}};
  Candidates interms_{"an intermediate value", "intermediate values", {}};
  std::string problem_;
};

SparsityBuilder& SparsityBuilder::set_weight(const std::string& pattern, Sparsifier initial,
                                             const Spec& layout) {
  registry().check_layout(layout);
  for (const std::string& one : pattern_list(pattern)) {
    const NamePattern checked(one);
    weights_.push_back({one, {initial, layout}});
  }
  return *this;
}

SparsityBuilder& SparsityBuilder::set_interm(const std::string& pattern, OutFormat format) {
  return add(interms_, pattern, std::move(format));
}
SparsityBuilder& SparsityBuilder::set_weight_grad(const std::string& pattern, OutFormat format) {
  return add(weight_grads_, pattern, std::move(format));
}
SparsityBuilder& SparsityBuilder::set_interm_grad(const std::string& pattern, OutFormat format) {
  return add(interm_grads_, pattern, std::move(format));
}

SparsityBuilder& SparsityBuilder::add(Entries<OutFormat>& to, const std::string& pattern,
                                      OutFormat format) {
  check_format(format);
  for (const std::string& one : pattern_list(pattern)) {
    const NamePattern checked(one);
    to.push_back({one, format});
  }
  return *this;
}

Graph SparsityBuilder::sparse_graph(const Graph& g) const {
  GraphParts parts = g.parts();
  SparsityMatch match(g);
  match.weights("set_weight", "set_interm", weights_, [&](std::size_t i, const WeightFormat& f) {
    parts.weights[i].format.initial = f.initial;
    parts.weights[i].format.layout = f.layout;
  });
  match.interms("set_interm", "set_weight", interms_,
                [&](std::size_t i, const OutFormat& f) { parts.nodes[i].formats.out = f; });
  match.weights("set_weight_grad", "set_interm_grad", weight_grads_,
                [&](std::size_t i, const OutFormat& f) { parts.weights[i].format.grad = f; });
  match.interms("set_interm_grad", "set_weight_grad", interm_grads_,
                [&](std::size_t i, const OutFormat& f) { parts.nodes[i].formats.grad = f; });
  match.check();
  return Graph(std::move(parts));
}

SparsityBuilder SparsityBuilder::of(const Graph& g) {
  SparsityBuilder sb;
  for (const Weight& w : g.weights()) {
    const std::string pattern = pattern_of(w.name);
    if (!w.format.is_dense()) sb.set_weight(pattern, w.format.initial, w.format.layout);
    if (w.format.grad) sb.set_weight_grad(pattern, *w.format.grad);
  }
  for (const Node& n : g.nodes()) {
    const std::string pattern = pattern_of(n.name);
    if (!n.formats.out.is_dense()) sb.set_interm(pattern, n.formats.out);
    if (!n.formats.grad.is_dense()) sb.set_interm_grad(pattern, n.formats.grad);
  }
  return sb;
}

bool SparsityBuilder::empty() const {
  return weights_.empty() && interms_.empty() && weight_grads_.empty() && interm_grads_.empty();
}

std::string SparsityBuilder::to_json() const {
  Json j = Json::object();
  for (const auto& [pattern, format] : weights_) {
    Json one{{"name", pattern}};
    put_sparsifier(one, "initial", format.initial, "weight " + quote(pattern));
    put_layout(one, "layout", format.layout);
    j["weights"].push_back(std::move(one));
  }
  const auto put = [&](const char* key, const char* kind, const Entries<OutFormat>& entries) {
    for (const auto& [pattern, format] : entries)
      j[key].push_back(
          {{"name", pattern}, {"format", format_json(format, kind + (" " + quote(pattern)))}});
  };
  put("intermediates", "node", interms_);
  put("weight_gradients", "gradient of weight", weight_grads_);
  put("intermediate_gradients", "gradient of node", interm_grads_);
  try {
    return j.dump();
  } catch (const Json::type_error&) {
    fail_usage("the sparsity has a name that is not UTF-8");
  }
}

SparsityBuilder SparsityBuilder::parse(std::string_view json, const std::string& what) {
  const Json document = parse_json(json, what);
  const JsonReader in(document, what);
  in.check_keys({"weights", "intermediates", "weight_gradients", "intermediate_gradients"});
  SparsityBuilder sb;
  const auto each = [&](const char* key, auto&& f) {
    if (!in.has(key)) return;
    for (const JsonReader& entry : in[key].elements()) {
      const std::string pattern = entry["name"].text();
      std::vector<std::string> patterns;
      entry["name"].read([&] {
        patterns = pattern_list(pattern);
        for (const std::string& one : patterns) const NamePattern checked(one);
      });
      for (const std::string& one : patterns) f(one, entry);
    }
  };
  each("weights", [&](const std::string& pattern, const JsonReader& entry) {
    entry.check_keys({"name", "initial", "layout"});
    WeightFormat f;
    read_sparsifier(entry, "initial", f.initial);
    read_layout(entry, "layout", f.layout);
    sb.weights_.push_back({pattern, std::move(f)});
  });
  const auto formats = [&](Entries<OutFormat>& to) {
    return [&to](const std::string& pattern, const JsonReader& entry) {
      entry.check_keys({"name", "format"});
      to.push_back({pattern, read_format(entry["format"])});
    };
  };
  each("intermediates", formats(sb.interms_));
  each("weight_gradients", formats(sb.weight_grads_));
  each("intermediate_gradients", formats(sb.interm_grads_));
  return sb;
}

}  // namespace sten
