// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/text_documents.h"

#include <doctest/doctest.h>

#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

using Ids = std::vector<TokenId>;

Ids ids_of(const Array<TokenId>& x) { return {x.begin(), x.end()}; }

constexpr TokenId none = -100;
constexpr const char* chat_template =
    "{% for m in messages %}{{ '<' if m.role == 'assistant' else '>' }}{{ m.content }}"
    "{{ eos_token if m.role == 'assistant' }}\\n{% endfor %}"
    "{{ '<' if add_generation_prompt }}";

// Byte-level BPE of 9 tokens, of which ab merges two characters, with a chat template.
class Documents {
 public:
  explicit Documents(const std::string& jinja = chat_template) {
    dir_.write("merges.txt", "#version: 0.2\na b\n");
    dir_.write("tokenizer_config.json",
               R"({"eos_token": "<|endoftext|>", "chat_template": ")" + jinja + "\"}");
    vocabulary_ = dir_.write("vocab.json", R"({"a": 0, "b": 1, "c": 2, "d": 3, "<": 4, ">": 5,
                                               "ab": 6, "<|endoftext|>": 7, "Ċ": 8})");
  }
  std::string write(const std::string& name, const std::string& text) const {
    return dir_.write(name, text);
  }
  PackedDocuments read(const std::vector<std::string>& files, bool completion_only_loss = false) {
    return read_documents(files, *read_tokenizer(vocabulary_), {vocabulary_, completion_only_loss});
  }
  PackedDocuments lines(const std::string& text, bool completion_only_loss = false) {
    return read({write("a.jsonl", text)}, completion_only_loss);
  }
  // The error for lines, without the directory.
  std::string error(const std::string& text, bool completion_only_loss = false) {
    std::string e = error_of([&] { lines(text, completion_only_loss); });
    for (std::size_t at; (at = e.find(dir_.path() + "/")) != std::string::npos;)
      e.erase(at, dir_.path().size() + 1);
    return e;
  }

 private:
  TempDir dir_;
  std::string vocabulary_;
};

}  // namespace

TEST_CASE("each text file is one document, and the end token separates documents") {
  Documents d;
  const std::string text = d.write("a.txt", "cab\n");
  const PackedDocuments one = d.read({text}), two = d.read({text, d.write("b.txt", "d")});
  CHECK(ids_of(one.tokens) == Ids{2, 6, 8});
  CHECK(ids_of(one.targets) == Ids{2, 6, 8});
  CHECK(one.boundary(1) == 1);
  CHECK(ids_of(two.tokens) == Ids{2, 6, 8, 7, 3});
  CHECK(two.boundary(2) == 2);
}

TEST_CASE("each JSON line is a document with an end token, and splits keep documents whole") {
  Documents d;
  const PackedDocuments p = d.lines("{\"text\": \"abc\"}\n\n{\"text\": \"d\", \"id\": 1}\n");
  CHECK(ids_of(p.tokens) == Ids{6, 2, 7, 3, 7});
  CHECK(ids_of(p.targets) == ids_of(p.tokens));
  std::vector<Index> boundaries;
  for (Index i = 0; i <= 5; ++i) boundaries.push_back(p.boundary(i));
  CHECK(boundaries == std::vector<Index>{0, 0, 3, 3, 5, 5});
}

TEST_CASE("completion-only loss counts completion tokens, even one that starts in the prompt") {
  Documents d;
  const std::string text = R"({"prompt": "ca", "completion": "bd"})"
                           "\n"
                           R"({"prompt": "c", "completion": "d"})";
  CHECK(ids_of(d.lines(text).targets) == Ids{2, 6, 3, 7, 2, 3, 7});
  const PackedDocuments p = d.lines(text, true);
  CHECK(ids_of(p.tokens) == Ids{2, 6, 3, 7, 2, 3, 7});
  CHECK(ids_of(p.targets) == Ids{none, 6, 3, 7, none, 3, 7});
  CHECK(p.counted(0, 7) == 5);
  CHECK(p.counted(4, 6) == 1);
}

TEST_CASE("completion-only loss counts assistant messages and end tokens, not headers") {
  const std::string text =
      R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "c"}, )"
      R"({"role": "user", "content": "b"}, {"role": "assistant", "content": "d"}]})";
  Documents d;
  const PackedDocuments p = d.lines(text, true);
  CHECK(ids_of(p.tokens) == Ids{5, 0, 8, 4, 2, 7, 8, 5, 1, 8, 4, 3, 7, 8});
  CHECK(ids_of(p.targets) ==
        Ids{none, none, none, none, 2, 7, none, none, none, none, none, 3, 7, none});

  Documents counting(
      "{% for m in messages %}{{ m.content }}{% endfor %}"
      "{{ 'c' if messages | length > 1 else 'd' }}");
  CHECK(counting.error(text, true) ==
        "a.jsonl: line 1: completion_only_loss needs a chat template that only appends messages, "
        "but the text of the first 1 is not a prefix of the text of 2");
  CHECK(counting.error(text).empty());
}

TEST_CASE("documents other than text, completions or messages are rejected with file and line") {
  Documents d;
  CHECK(d.error("\n{\n").starts_with("a.jsonl: line 2: not JSON"));
  CHECK(d.error("3").starts_with("a.jsonl: line 1: "));
  CHECK(d.error("\n") == "a.jsonl: expected documents, got none");
  const std::string one_of = "expected one of text, prompt and completion, or messages";
  CHECK(d.error(R"({"txt": "a"})") == "a.jsonl: line 1: " + one_of);
  CHECK(d.error(R"({"text": "a", "prompt": "b"})") == "a.jsonl: line 1: " + one_of);
  CHECK(d.error(R"({"text": 1})").starts_with("a.jsonl: line 1: /text: "));
  CHECK(d.error(R"({"prompt": "a"})").starts_with("a.jsonl: line 1: "));
  CHECK(d.error(R"({"prompt": "a", "completion": ""})") ==
        "a.jsonl: line 1: /completion: expected a non-empty value");
  CHECK(d.error("{\"text\": \"a\"}\n{\"prompt\": \"a\", \"completion\": \"b\"}") ==
        "a.jsonl: line 2: expected text as in line 1, got prompt and completion");
  CHECK(d.error(R"({"messages": [{"role": "tool", "content": "a"}]})") ==
        "a.jsonl: line 1: /messages/0/role: expected system, user or assistant, got 'tool'");
  CHECK(d.error(R"({"messages": []})") ==
        "a.jsonl: line 1: /messages: expected at least one message");
  CHECK(d.error(R"({"text": "a"})", true) ==
        "a.jsonl: line 1: expected prompt and completion, or messages, for completion_only_loss, "
        "got text");
  CHECK(Documents("").error(R"({"messages": [{"role": "user", "content": "a"}]})") ==
        "a.jsonl: line 1: messages need a chat template, not found beside vocab.json");
  CHECK(Documents("{{ raise_exception('No.') }}")
            .error(R"({"messages": [{"role": "user", "content": "a"}]})")
            .starts_with("a.jsonl: line 1: tokenizer_config.json: line 1: No."));
}

TEST_CASE("a text of mostly unknown tokens is rejected") {
  const TempDir dir;
  const std::string vocabulary = dir.write("vocab.json", R"({"[UNK]": 0, "a": 1})");
  const auto read = [&](const char* text) {
    const std::vector<std::string> files{dir.write("a.txt", text)};
    return read_documents(files, *read_tokenizer(vocabulary), {vocabulary, false});
  };
  CHECK(ids_of(read("aж").tokens) == Ids{1, 0});
  CHECK(error_of([&] { read("aжж"); }) ==
        fmt::format("{0}/a.txt: expected a text of known tokens: 67 % are unknown to "
                    "{0}/vocab.json",
                    dir.path()));
}
