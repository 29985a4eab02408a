#include "libsten/graph/fastest_layouts.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "libsten/base/error.h"
#include "libsten/dispatch/route.h"

namespace sten {
namespace {

constexpr int timed_runs = 3;
constexpr double never = std::numeric_limits<double>::infinity();

struct Choice {
  std::vector<Spec> layouts;  // the weight's own first
  std::vector<double> seconds;
};

bool is_worth_it(const Tensor& w) {
  if (w.dtype() != DType::F32 || w.shape().size() < 2) return false;
  const Dense d = w.to_dense();
  const auto v = d.values.as<float>();
  return 2 * std::ranges::count(v, 0.0f) >= std::ssize(v);
}

Choice choice_of(const Tensor& w) {
  Choice c{{w.spec()}, {0}};
  for (const char* text : {"dense", "csr", "nm:n=2,m=4", "nm:n=1,m=4", "nm:n=1,m=8"}) {
    const Spec s = Spec::parse(text);
    if (s.str() == w.spec().str()) continue;
    c.layouts.push_back(s);
    c.seconds.push_back(0);
  }
  return c;
}

// nullopt where the layout does not hold all of it.
std::optional<Tensor> in_layout(const Tensor& w, const Spec& layout) {
  try {
    return convert(w, layout);
  } catch (const Error&) {
    return {};
  }
}

double seconds_of(const Node& n, std::span<const Tensor> in) {
  double least = never;
  try {
    for (int run = 0; run <= timed_runs + 1; ++run) {  // the first two make what is kept
      const auto begin = std::chrono::steady_clock::now();
      (void)apply(n.op, in, n.attributes);
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
      if (run > 1) least = std::min(least, took.count());
    }
  } catch (const Error&) {
    return never;
  }
  return least;
}

}  // namespace

NamedValues<Tensor> in_fastest_layouts(const Graph& g, const NamedValues<Tensor>& values,
                                       const std::vector<std::string>& weights) {
  NamedValues<Choice> choices;
  for (const std::string& name : weights)
    if (const Tensor& w = values.at(name); is_worth_it(w)) choices.emplace(name, choice_of(w));
  NamedValues<Tensor> all = values;
  std::map<std::string, int, std::less<>> uses;
  for (const Node& n : g.nodes())
    for (const std::string& name : n.inputs) ++uses[name];
  for (const Node& n : g.nodes()) {
    std::vector<Tensor> in;
    for (const std::string& name : n.inputs) in.push_back(all.at(name));
    for (std::size_t i = 0; i < in.size(); ++i) {
      const auto at = choices.find(n.inputs[i]);
      if (at == choices.end()) continue;
      Choice& c = at->second;
      const Tensor own = in[i];
      for (std::size_t k = 0; k < c.layouts.size(); ++k) {
        const auto w = c.seconds[k] < never ? in_layout(own, c.layouts[k]) : std::nullopt;
        if (w) in[i] = *w;
        c.seconds[k] += w ? seconds_of(n, in) : never;
      }
      in[i] = own;
    }
    Tensor out = apply(n.op, in, n.attributes);
    for (const std::string& name : n.inputs)
      if (--uses[name] == 0 && !choices.contains(name)) all.erase(name);
    all.insert_or_assign(n.name, std::move(out));
  }
  NamedValues<Tensor> result;
  for (const std::string& name : weights) {
    const Tensor& w = values.at(name);
    const auto at = choices.find(name);
    if (at == choices.end()) {
      result.emplace(name, w);
      continue;
    }
    const Choice& c = at->second;
    const auto best = std::ranges::min_element(c.seconds) - c.seconds.begin();
    result.emplace(name, best == 0 || c.seconds[best] == never ? w : convert(w, c.layouts[best]));
  }
  return result;
}

}  // namespace sten
