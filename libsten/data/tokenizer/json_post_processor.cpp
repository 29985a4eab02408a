// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/data/tokenizer/files.h"
#include "libsten/data/tokenizer/json_steps.h"

namespace sten::tokenizer_detail {
namespace {

// Far above the special tokens of any model.
constexpr std::size_t max_template_parts = 256;

using Template = std::vector<TemplatePart>;

Template parts_of(const JsonReader& in, const JsonReader& specials) {
  Template parts;
  const auto add = [&](const TemplatePart& p) {
    if (parts.size() == max_template_parts)
      in.fail(fmt::format("expected at most {} tokens and sequences", max_template_parts));
    parts.push_back(p);
  };
  for (const JsonReader& part : in.elements()) {
    const bool is_token = part.has("SpecialToken");
    const JsonReader one = part[is_token ? "SpecialToken" : "Sequence"];
    const Index type = one["type_id"].integer();
    if (type < 0 || type > 255)
      one["type_id"].fail(fmt::format("expected a token type from 0 to 255, got {}", type));
    TemplatePart p{TemplatePart::token, 0, static_cast<std::int32_t>(type)};
    const std::string id = one["id"].text();
    if (is_token) {
      for (const JsonReader& each : specials[id]["ids"].elements()) {
        p.id = token_id(each);
        add(p);
      }
      continue;
    }
    if (id != "A" && id != "B") one["id"].fail("expected 'A' or 'B'");
    p.kind = id == "A" ? TemplatePart::first : TemplatePart::second;
    add(p);
  }
  return parts;
}

// Checks that each text occurs once: the first always, the second only in a pair.
void check_texts(const JsonReader& in, const Template& parts, bool is_pair) {
  if (std::ranges::count(parts, TemplatePart::first, &TemplatePart::kind) != 1 ||
      std::ranges::count(parts, TemplatePart::second, &TemplatePart::kind) != (is_pair ? 1 : 0))
    in.fail("expected each sequence once");
}

SequenceTemplate template_of(const JsonReader& p) {
  const std::string type = p["type"].text();
  SequenceTemplate t;
  if (type == "TemplateProcessing") {
    t = {parts_of(p["single"], p["special_tokens"]), parts_of(p["pair"], p["special_tokens"])};
    check_texts(p["single"], t.one, false);
    check_texts(p["pair"], t.two, true);
    return t;
  }
  if (type != "BertProcessing" && type != "RobertaProcessing")
    p["type"].fail(fmt::format("the post-processor {} is not supported", quote(type)));
  const auto id = [&](const char* key) {
    const std::vector<JsonReader> pair = p[key].elements();
    if (pair.size() != 2) p[key].fail("expected [token, id]");
    return token_id(pair[1]);
  };
  const bool is_bert = type == "BertProcessing";
  const TemplatePart first{TemplatePart::first};
  const TemplatePart begin{TemplatePart::token, id("cls")}, end{TemplatePart::token, id("sep")};
  const TemplatePart second{TemplatePart::second, 0, is_bert};
  const TemplatePart last{TemplatePart::token, end.id, is_bert};
  t.one = {begin, first, end};
  t.two = is_bert ? Template{begin, first, end, second, last}
                  : Template{begin, first, end, end, second, last};
  return t;
}

}  // namespace

SequenceTemplate post_processor_of(const JsonReader& in) {
  std::optional<SequenceTemplate> found;
  for (const JsonReader& one : steps_of(in, "post_processor", "processors")) {
    if (one["type"].text() == "ByteLevel") continue;  // changes offsets only
    if (found) one.fail("a second post-processor with tokens is not supported");
    found = template_of(one);
  }
  return found.value_or(SequenceTemplate());
}

}  // namespace sten::tokenizer_detail
