// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/recipe/targets.h"

#include <algorithm>
#include <map>

#include "libsten/core/base/name_pattern.h"
#include "libsten/core/base/text.h"

namespace sten {
namespace {

std::vector<std::string> matches_of_one(const std::string& target,
                                        const std::vector<Weight>& weights) {
  const NamePattern pattern(target);
  std::vector<std::string> matrices, found;
  bool any = false;
  for (const Weight& w : weights) {
    const bool fits = w.shape.size() >= 2;
    if (fits) matrices.push_back(w.name);
    if (!pattern.matches(w.name)) continue;
    any = true;
    if (fits) found.push_back(w.name);
  }
  if (!found.empty()) return found;
  if (any) fail_usage("{} matches only weights of rank 0 or 1, which stay dense", quote(target));
  std::string near = suggestion(target, matrices);
  if (near.empty())
    for (const std::string& name : nearest(target, matrices, 3))
      near += (near.empty() ? "; near are " : ", ") + printable(name);
  fail_usage("{} matches none of the {} weights of the model{}", quote(target), weights.size(),
             near);
}

std::vector<std::string> matches(const std::string& list, const std::vector<Weight>& weights) {
  std::vector<std::string> all;
  for (const std::string& target : pattern_list(list))
    for (std::string& name : matches_of_one(target, weights))
      if (std::ranges::find(all, name) == all.end()) all.push_back(std::move(name));
  return all;
}

}  // namespace

std::vector<std::string> match_weights(const std::string& target,
                                       const std::vector<Weight>& weights, const std::string& key) {
  try {
    std::vector<std::string> found = matches(target, weights);
    std::ranges::sort(found, natural_less);
    return found;
  } catch (const Error& error) {
    throw Error(error.fault(), fmt::format("{}: {}", key, error.what()));
  }
}

std::vector<std::vector<std::string>> match_targets(const std::vector<SparsityRecipe>& entries,
                                                    const std::vector<Weight>& weights) {
  std::vector<std::vector<std::string>> all;
  std::map<std::string, std::size_t> entry_of;
  for (std::size_t e = 0; e < entries.size(); ++e) {
    const std::string key = fmt::format("/sparsity/{}/target", e);
    all.push_back(match_weights(entries[e].target, weights, key));
    for (const std::string& name : all.back())
      if (const auto [at, is_new] = entry_of.emplace(name, e); !is_new)
        fail_usage("{}: weight {} also matches /sparsity/{}", key, quote(name), at->second);
  }
  return all;
}

}  // namespace sten
