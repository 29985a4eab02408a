// SPDX-License-Identifier: Apache-2.0
// Prompts of chat templates equal those of transformers (chat_reference.py).
#include "libsten/data/tokenizer/chat_template.h"

#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

ChatTemplate template_of(const nlohmann::json& c) {
  return ChatTemplate(
      {c.at("jinja"), "t", {{"bos_token", c.at("bos")}, {"eos_token", c.at("eos")}}});
}

const std::vector<ChatMessage> question{{"user", "Who?"}};

}  // namespace

TEST_CASE("chat prompts match those of transformers for the same templates") {
  std::ifstream in(STEN_SOURCE_DIR "/tests/data/chat_templates.json");
  const nlohmann::json all = nlohmann::json::parse(in);
  REQUIRE(all.size() > 30);
  for (const auto& c : all) {
    CAPTURE(c.at("jinja").get<std::string>());
    std::vector<ChatMessage> messages;
    for (const auto& m : c.at("messages")) messages.push_back({m.at("role"), m.at("content")});
    CHECK(template_of(c).prompt(messages) == c.at("prompt").get<std::string>());
  }
}

TEST_CASE("conversation() omits the generation prompt that prompt() adds") {
  const ChatTemplate chat(
      {"{% for m in messages %}<{{ m.content }}>{% endfor %}"
       "{% if add_generation_prompt %}<{% endif %}",
       "t"});
  CHECK(chat.prompt(question) == "<Who?><");
  CHECK(chat.conversation(question) == "<Who?>");
}

TEST_CASE("chat templates see tools and documents as none") {
  const ChatTemplate chat(
      {"{{ tools is none }} {{ documents is none }} {{ tools is defined }}", "t"});
  CHECK(chat.prompt(question) == "True True True");
}

TEST_CASE("a chat template is read from chat_template.jinja or tokenizer_config.json") {
  const TempDir dir;
  CHECK(!ChatTemplateSource::read(dir.path()));
  dir.write("tokenizer_config.json",
            R"({"chat_template": [{"name": "tools", "template": "x"},
                {"name": "default", "template": "{% for m in messages %}{{ m.role }}{% endfor %}"}],
                "bos_token": {"content": "<s>"}, "eos_token": "</s>"})");
  const auto listed = ChatTemplateSource::read(dir.path());
  REQUIRE(listed);
  CHECK(listed->tokens.at("bos_token") == "<s>");
  CHECK(listed->tokens.at("eos_token") == "</s>");
  CHECK(ChatTemplate(*listed).prompt(question) == "user");
  dir.write("chat_template.jinja", "{{ bos_token + messages[0].content + eos_token }}");
  CHECK(ChatTemplate(*ChatTemplateSource::read(dir.path())).prompt(question) == "<s>Who?</s>");
  dir.write("special_tokens_map.json", R"({"eos_token": "other", "pad_token": "<pad>"})");
  dir.write("chat_template.jinja", "{{ eos_token ~ pad_token }}");
  CHECK(ChatTemplate(*ChatTemplateSource::read(dir.path())).prompt(question) == "</s><pad>");
}

TEST_CASE("invalid chat templates and rejected messages give one-line errors") {
  const auto error = [](const char* jinja) {
    return error_of([&] { ChatTemplate({jinja, "a.json"}).prompt(question); });
  };
  CHECK(error("{% if x %}") == "a.json: line 1: missing endif");
  CHECK(error("\n{% include 'b' %}") == "a.json: line 2: unsupported statement include");
  CHECK(error("{{ messages | frobnicate }}") == "a.json: line 1: unsupported filter frobnicate");
  CHECK(error("{{ raise_exception('No system role') }}") == "a.json: line 1: No system role");
  CHECK(error_of([] {
          ChatTemplate({"", "a.json"}).prompt({});
        }) == "expected at least one message");
}
