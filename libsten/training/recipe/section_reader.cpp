// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/recipe/section_reader.h"

#include <algorithm>

#include "libsten/core/base/hints.h"
#include "libsten/core/base/text.h"

namespace sten::recipe_detail {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& w : words) all += (all.empty() ? "" : ", ") + w;
  return all;
}

// Names of keys in other trainers.
constexpr std::pair<const char*, const char*> elsewhere[] = {
    {"lr", "rate"},
    {"learning_rate", "rate"},
    {"wd", "weight_decay"},
    {"batch_size", "batch"},
    {"num_train_epochs", "epochs"},
    {"max_steps", "steps"},
    {"max_grad_norm", "clip"},
};

std::string suggested_key(const std::string& key, const std::vector<std::string>& known) {
  for (const auto& [theirs, ours] : elsewhere)
    if (key == theirs && std::ranges::count(known, ours))
      return fmt::format(", did you mean {}?", quote(ours));
  return suggestion(key, known);
}

void check_choice(const JsonReader& at, const std::string& v, const Words& choices) {
  if (std::ranges::count(choices, v)) return;
  const std::vector<std::string> all(choices.begin(), choices.end());
  at.fail(unknown_name("value", v, all));
}

void check_range(const JsonReader& at, double v, const Rule& r) {
  const bool low = r.above ? v > r.low : v >= r.low, high = r.below ? v < r.high : v <= r.high;
  if (low && high) return;
  if (r.low == r.high) at.fail(fmt::format("expected {1}, got {0}", v, r.low));
  if (r.high < most)
    at.fail(fmt::format("expected a value in {1}{2}, {3}{4}, got {0}", v, r.above ? '(' : '[',
                        r.low, r.high, r.below ? ')' : ']'));
  if (!low)
    at.fail(fmt::format("expected a value {1} {2}, got {0}", v, r.above ? ">" : ">=", r.low));
  at.fail(fmt::format("expected a value <= {1:.0f}, got {0}", v, r.high));
}

}  // namespace

bool SectionReader::is_for(const Words& kinds) const {
  return kinds.empty() || std::ranges::count(kinds, kind_);
}

void SectionReader::check_keys() const {
  std::vector<std::string> ours;
  for (const RecipeKey& k : keys_)
    if (k.kinds.empty() || std::ranges::count(k.kinds, kind_)) ours.push_back(k.pointer.substr(1));
  for (const auto& [key, value] : at_.members()) {
    if (std::ranges::count(ours, key)) continue;
    const auto other =
        std::ranges::find(keys_, "/" + key, [](const RecipeKey& k) { return k.pointer; });
    if (other == keys_.end()) value.fail("unknown key" + suggested_key(key, ours));
    value.fail(fmt::format("key belongs to {}, not to {} (expected {})", joined(other->kinds),
                           kind_, joined(ours)));
  }
}

void SectionReader::kind(std::string& v, const Words& all, bool required) {
  if (required) require(at_, "kind", fmt::format("\"{}\"", all.front()));
  if (at_.has("kind")) {
    v = at_["kind"].text();
    if (v == "layerwise") v = "layer-wise";  // canonical spelling
    check_choice(at_["kind"], v, all);
  }
  kind_ = v;
  check_keys();
}

void SectionReader::mask(MaskRecipe& m) {
  if (!at_.has("mask")) return;
  const JsonReader at = at_["mask"];
  if (at.json().is_object()) return inner(at).read(m);
  if (!at.json().is_string() || at.text() != "fixed")
    at.fail(R"(expected "fixed" or {"refresh": steps between new masks})");
  m = {};
}

void SectionReader::get(const JsonReader& at, std::string& v, const Rule& rule) const {
  const bool from_file = at.origin() == origin_;
  // Numbers on a command line need no quotes.
  v = !from_file && at.json().is_number() ? dump_json(at.json()) : at.text();
  if (!rule.choices.empty()) check_choice(at, v, rule.choices);
  if (v.empty() && (rule.required || rule.path)) at.fail("expected a non-empty value");
  if (!rule.path) return;
  if (v.find('\0') != std::string::npos) at.fail("path contains a null character");
  const std::filesystem::path given(v);
  v = (from_file ? directory_ / given : std::filesystem::absolute(given)).lexically_normal();
}

void SectionReader::get(const JsonReader& at, double& v, const Rule& rule) const {
  v = at.number();
  check_range(at, v, rule);
}

void SectionReader::get(const JsonReader& at, Index& v, const Rule& rule) const {
  v = at.integer();
  check_range(at, static_cast<double>(v), rule);
}

void SectionReader::get(const JsonReader& at, std::uint64_t& v, const Rule&) const {
  v = at.natural();
}

void SectionReader::get(const JsonReader& at, bool& v, const Rule&) const { v = at.truth(); }

void SectionReader::get(const JsonReader& at, Spec& v, const Rule&) const {
  const std::string text = at.text();
  v = at.read([&] { return Spec::parse(text); });
}

void SectionReader::get(const JsonReader& at, std::pair<Index, double>& v, const Rule& rule) const {
  const auto both = at.elements();
  if (both.size() != 2) at.fail("expected [step, factor]");
  get(both[0], v.first, rule);
  get(both[1], v.second, rule);
}

void SectionReader::get(const JsonReader& at, std::map<std::string, std::string>& v,
                        const Rule& rule) const {
  v.clear();
  for (const auto& [key, value] : at.members()) get(value, v[key], rule);
  if (v.empty()) at.fail("expected a non-empty value");
}

}  // namespace sten::recipe_detail
