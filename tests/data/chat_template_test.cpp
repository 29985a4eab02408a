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
  return ChatTemplate({c.at("jinja"), "t", c.at("bos"), c.at("eos")});
}

const std::vector<ChatMessage> question{{"user", "Who?"}};

}  // namespace

TEST_CASE("messages become the prompts that transformers makes of them by the same templates") {
  std::ifstream in(STEN_SOURCE_DIR "/tests/data/chat_templates.json");
  const nlohmann::json all = nlohmann::json::parse(in);
  REQUIRE(all.size() > 30);
  for (const auto& c : all) {
    CAPTURE(c.at("jinja").get<std::string>());
    std::vector<ChatMessage> messages;
    for (const auto& m : c.at("messages")) messages.push_back({m.at("role"), m.at("content")});
    const ChatTemplate t = template_of(c);
    CHECK(t.format() == c.at("format").get<std::string>());
    CHECK(t.prompt(messages) == c.at("prompt").get<std::string>());
  }
}

TEST_CASE("a template is read from its own file, or from the tokenizer's configuration") {
  const TempDir dir;
  CHECK(!ChatTemplateSource::read(dir.path()));
  dir.write("tokenizer_config.json",
            R"({"chat_template": [{"name": "tools", "template": "x"},
                {"name": "default", "template": "<|im_start|> <|im_end|>"}],
                "bos_token": {"content": "<s>"}, "eos_token": "</s>"})");
  const auto listed = ChatTemplateSource::read(dir.path());
  REQUIRE(listed);
  CHECK(listed->bos == "<s>");
  CHECK(listed->eos == "</s>");
  CHECK(ChatTemplate(*listed).prompt(question) ==
        "<|im_start|>user\nWho?<|im_end|>\n<|im_start|>assistant\n");
  dir.write("chat_template.jinja", "{{ bos_token }}<start_of_turn> <end_of_turn>");
  CHECK(ChatTemplate(*ChatTemplateSource::read(dir.path())).prompt(question) ==
        "<s><start_of_turn>user\nWho?<end_of_turn>\n<start_of_turn>model\n");
}

TEST_CASE("templates and messages without a known format are refused by one line") {
  CHECK(error_of([] {
          ChatTemplate({"{{ messages }}", "a.json"});
        }) ==
        "a.json: unknown chat template: expected ChatML, Llama 2, Llama 3, Gemma, Mistral, Phi-3 "
        "or Zephyr (--raw sends the messages without a template)");
  const ChatTemplate gemma({"<start_of_turn> <end_of_turn>", "a.json"});
  const std::vector<ChatMessage> twice{{"user", "a"}, {"user", "b"}},
      system{{"system", "a"}, {"user", "b"}};
  CHECK(error_of([&] { gemma.prompt(twice); }) ==
        "a.json: message 2: expected user and assistant in turn, got 'user'");
  CHECK(error_of([&] { gemma.prompt(system); }) == "a.json: the template has no system messages");
  CHECK(error_of([&] { gemma.prompt({}); }) == "expected at least one message");
  const ChatTemplate zephyr({"<|user|> <|assistant|> eos_token", "a.json"});
  CHECK(error_of([&] { zephyr.prompt(question); }) ==
        "a.json: missing eos_token, which the chat template uses");
}
