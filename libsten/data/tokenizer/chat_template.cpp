#include "libsten/data/tokenizer/chat_template.h"

#include <algorithm>
#include <ctime>
#include <filesystem>

#include "libsten/core/base/json_reader.h"
#include "libsten/core/base/text.h"
#include "libsten/files/gguf/tokenizer_json.h"
#include "libsten/files/system/data_file.h"

namespace sten {
namespace {

using Messages = std::span<const ChatMessage>;
using Source = ChatTemplateSource;

bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

std::string trimmed(std::string_view text) {
  constexpr std::string_view spaces = " \t\n\v\f\r";
  const std::size_t begin = text.find_first_not_of(spaces);
  if (begin == text.npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(spaces) + 1 - begin));
}

// The text between `begin` and `end` in the template, a string literal; none if there is none.
// Jinja's "\n" is a line feed.
std::optional<std::string> literal_between(std::string_view jinja, std::string_view begin,
                                           std::string_view end) {
  const std::size_t at = jinja.find(begin);
  if (at == jinja.npos) return {};
  std::string_view text = jinja.substr(at + begin.size());
  text = text.substr(0, text.find(end));
  if (has(text, "'") || has(text, "\" +") || has(text, "{{")) return {};
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_line_feed = text.substr(i, 2) == "\\n";
    out += is_line_feed ? '\n' : text[i];
    i += is_line_feed;
  }
  return out;
}

// The special token at the start, if the template has it.
std::string start_of(const Source& s) { return has(s.jinja, "bos_token") ? s.bos : ""; }

// The system message, or "", and the others.
std::pair<std::string, Messages> split_system(Messages all) {
  if (all.front().role != "system") return {"", all};
  return {all.front().content, all.subspan(1)};
}

void check_alternating(const Source& s, Messages all) {
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].role != (i % 2 == 0 ? "user" : "assistant"))
      fail_usage("{}: message {}: expected user and assistant in turn, got {}", s.name, i + 1,
                 quote(all[i].role));
}

// begin ROLE middle CONTENT end, for each message.
std::string turns(Messages all, std::string_view begin, std::string_view middle,
                  std::string_view end, bool trims = false) {
  std::string out;
  for (const ChatMessage& m : all)
    out += fmt::format("{}{}{}{}{}", begin, m.role, middle, trims ? trimmed(m.content) : m.content,
                       end);
  return out;
}

// Templates of several models have a system message for messages without one.
std::string chatml(const Source& s, Messages all) {
  if (has(s.jinja, "</think>"))
    for (const ChatMessage& m : all)
      if (m.role == "assistant" && has(m.content, "</think>"))
        fail_usage("{}: assistant messages with </think> are not supported (use --raw)", s.name);
  std::string out = start_of(s);
  for (const char* line_feed : {"\\n", "\n"})
    if (const auto usual =
            literal_between(s.jinja, fmt::format("<|im_start|>system{}", line_feed), "<|im_end|>");
        usual && !usual->empty() && all.front().role != "system") {
      out += fmt::format("<|im_start|>system\n{}<|im_end|>\n", *usual);
      break;
    }
  return out + turns(all, "<|im_start|>", "\n", "<|im_end|>\n") + "<|im_start|>assistant\n";
}

// Llama 3.1 and later have dates in front of the system message.
std::string llama3(const Source& s, Messages all) {
  std::string out = start_of(s);
  constexpr const char *begin = "<|start_header_id|>", *middle = "<|end_header_id|>\n\n",
                       *end = "<|eot_id|>";
  if (has(s.jinja, "Cutting Knowledge Date")) {
    const auto [system, others] = split_system(all);
    std::string date = literal_between(s.jinja, "date_string = \"", "\"").value_or("");
    if (has(s.jinja, "strftime_now")) {
      const std::time_t now = std::time(nullptr);
      std::tm local{};
      localtime_r(&now, &local);
      char text[32];
      date.assign(text, std::strftime(text, sizeof text, "%d %b %Y", &local));
    }
    const ChatMessage with_dates{
        "system", fmt::format("Cutting Knowledge Date: December 2023\nToday Date: {}\n\n{}", date,
                              trimmed(system))};
    out += begin + with_dates.role + middle + with_dates.content + end;
    all = others;
  }
  return out + turns(all, begin, middle, end, true) + begin + "assistant" + middle;
}

std::string llama2(const Source& s, Messages all) {
  const auto [system, others] = split_system(all);
  check_alternating(s, others);
  std::string out;
  for (std::size_t i = 0; i < others.size(); ++i) {
    const std::string& text = others[i].content;
    if (others[i].role == "assistant")
      out += fmt::format(" {} {}", trimmed(text), s.eos);
    else if (i == 0 && others.size() < all.size())
      out += fmt::format("{}[INST] {} [/INST]", s.bos,
                         trimmed(fmt::format("<<SYS>>\n{}\n<</SYS>>\n\n{}", system, text)));
    else
      out += fmt::format("{}[INST] {} [/INST]", s.bos, trimmed(text));
  }
  return out;
}

// Gemma 3 puts the system message in front of the first message; earlier ones have none.
std::string gemma(const Source& s, Messages all) {
  const auto [system, others] = split_system(all);
  if (others.size() < all.size() && !has(s.jinja, "first_user_prefix"))
    fail_usage("{}: the template has no system messages", s.name);
  check_alternating(s, others);
  std::string out = start_of(s);
  for (std::size_t i = 0; i < others.size(); ++i)
    out += fmt::format(
        "<start_of_turn>{}\n{}{}<end_of_turn>\n", others[i].role == "user" ? "user" : "model",
        i == 0 && others.size() < all.size() ? system + "\n\n" : "", trimmed(others[i].content));
  return out + "<start_of_turn>model\n";
}

// The versions differ in blanks, and in the user message that the system message precedes.
std::string mistral(const Source& s, Messages all) {
  const auto [system, others] = split_system(all);
  const bool has_system = others.size() < all.size();
  if (has_system && !has(s.jinja, "system_message"))
    fail_usage("{}: the template has no system messages", s.name);
  check_alternating(s, others);
  const bool is_last = has(s.jinja, "loop.last and system_message");
  const auto either = [&](const char* a, const char* b) {
    return has(s.jinja, a) || has(s.jinja, b);
  };
  const std::string begin = either("' [INST] '", "\" [INST] \"") ? " [INST] " : "[INST] ",
                    end = either("' [/INST]'", "\" [/INST]\"") ? " [/INST]" : "[/INST]";
  const bool blank_before = either("' ' + message", "\" \" + message");
  const bool blank_after = either("eos_token + ' '", "eos_token + \" \"");
  const bool trims = either("message[\"content\"]|trim", "message['content']|trim");
  const std::size_t with_system = is_last ? others.size() - 1 : 0;
  std::string out = start_of(s);
  for (std::size_t i = 0; i < others.size(); ++i) {
    const std::string& text = others[i].content;
    if (others[i].role == "assistant")
      out += fmt::format("{}{}{}{}", blank_before ? " " : "", trims ? trimmed(text) : text, s.eos,
                         blank_after ? " " : "");
    else
      out += begin + (has_system && i == with_system ? system + "\n\n" : "") + text + end;
  }
  return out;
}

std::string phi3(const Source& s, Messages all) {
  return start_of(s) + turns(all, "<|", "|>\n", "<|end|>\n") + "<|assistant|>\n";
}

std::string zephyr(const Source& s, Messages all) {
  return start_of(s) + turns(all, "<|", "|>\n", s.eos + "\n") + "<|assistant|>\n";
}

struct Format {
  std::string_view name;
  std::vector<std::string_view> markers;  // all of them are in the template
  std::string (*prompt)(const Source&, Messages);
};

// The first match counts.
const std::vector<Format>& formats() {
  static const std::vector<Format> all{
      {"ChatML", {"<|im_start|>", "<|im_end|>"}, chatml},
      {"Llama 3", {"<|start_header_id|>", "<|eot_id|>"}, llama3},
      {"Gemma", {"<start_of_turn>", "<end_of_turn>"}, gemma},
      {"Phi-3", {"<|end|>", "<|user|>"}, phi3},
      {"Zephyr", {"<|user|>", "<|assistant|>", "eos_token"}, zephyr},
      {"Llama 2", {"[INST]", "<<SYS>>", "eos_token"}, llama2},
      {"Mistral", {"[INST]", "[/INST]", "eos_token"}, mistral}};
  return all;
}

// A text, or an added token {"content": text}.
std::string token_text(const JsonReader& config, const char* key) {
  if (!config.has(key) || config[key].json().is_null()) return "";
  const JsonReader token = config[key];
  return token.json().is_object() ? token["content"].text() : token.text();
}

// A text, or a list of named templates.
std::string jinja_of(const JsonReader& config) {
  if (!config.has("chat_template") || config["chat_template"].json().is_null()) return "";
  const JsonReader given = config["chat_template"];
  if (!given.json().is_array()) return given.text();
  for (const JsonReader& named : given.elements())
    if (named["name"].text() == "default") return named["template"].text();
  return "";
}

}  // namespace

std::optional<ChatTemplateSource> ChatTemplateSource::read(const std::string& tokenizer) {
  namespace fs = std::filesystem;
  const auto of_config = [](std::string_view text, const std::string& name) -> Source {
    const auto json = parse_json(text, name, Fault::input);
    const JsonReader reader(json, name, Fault::input);
    return {jinja_of(reader), name, token_text(reader, "bos_token"),
            token_text(reader, "eos_token")};
  };
  const bool is_directory = fs::is_directory(tokenizer);
  if (!is_directory && fs::is_regular_file(tokenizer)) {
    const MappedFile file = open_data(tokenizer);
    const std::string name = printable(tokenizer);
    if (is_gguf(file.bytes())) {
      Source s = of_config(gguf_tokenizer_config_json(parse_gguf(file.bytes(), name), name), name);
      return s.jinja.empty() ? std::nullopt : std::optional(std::move(s));
    }
  }
  const fs::path directory = is_directory ? fs::path(tokenizer) : fs::path(tokenizer).parent_path();
  const std::string config = (directory / "tokenizer_config.json").string(),
                    own = (directory / "chat_template.jinja").string();
  Source s;
  if (fs::is_regular_file(config)) {
    const MappedFile file = open_data(config);
    s = of_config(text_of(file.bytes()), printable(config));
  }
  if (fs::is_regular_file(own)) {
    s.jinja = std::string(text_of(open_data(own).bytes()));
    s.name = printable(own);
  }
  if (s.jinja.empty()) return {};
  return s;
}

ChatTemplate::ChatTemplate(ChatTemplateSource source) : source_(std::move(source)), format_(0) {
  const auto is_in = [&](std::string_view marker) { return has(source_.jinja, marker); };
  const auto at = std::ranges::find_if(
      formats(), [&](const Format& f) { return std::ranges::all_of(f.markers, is_in); });
  if (at == formats().end())
    fail_usage(
        "{}: unknown chat template: expected ChatML, Llama 2, Llama 3, Gemma, Mistral, Phi-3 or "
        "Zephyr (--raw sends the messages without a template)",
        source_.name);
  format_ = static_cast<std::size_t>(at - formats().begin());
}

std::string_view ChatTemplate::format() const { return formats()[format_].name; }

std::string ChatTemplate::prompt(std::span<const ChatMessage> messages) const {
  if (messages.empty()) fail_usage("expected at least one message");
  if (has(source_.jinja, "eos_token") && source_.eos.empty() && format() != "Phi-3")
    fail_usage("{}: missing eos_token, which the chat template uses", source_.name);
  if (split_system(messages).second.empty())
    fail_usage("expected a user message, got only a system message");
  return formats()[format_].prompt(source_, messages);
}

}  // namespace sten
