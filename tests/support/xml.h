// SPDX-License-Identifier: Apache-2.0
// A minimal XML parser that checks whether a text is well-formed and counts its elements.
#pragma once
#include <cctype>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sten::testing {

// `error` is empty if the text is one well-formed element. Comments, CDATA and processing
// instructions, which sten does not write, are errors.
struct Xml {
  std::string error;
  std::map<std::string, int> elements;
  std::vector<std::string> texts;  // between tags, with entities resolved, without blank ones

  explicit Xml(std::string_view xml) : in_(xml) { parse(); }

 private:
  void parse() {
    std::vector<std::string> open;
    bool root = false;
    while (at_ < in_.size() && error.empty()) {
      if (in_[at_] != '<') {
        const std::string text = characters('<');
        if (text.find_first_not_of(" \n") == std::string::npos) continue;
        if (open.empty()) return fail("text outside of the root");
        texts.push_back(text);
        continue;
      }
      ++at_;
      const bool closing = take('/');
      const std::string name = word();
      if (name.empty()) return fail("a tag without a name");
      if (closing) {
        if (open.empty() || open.back() != name) return fail("</" + name + "> closes nothing");
        open.pop_back();
      } else {
        if (open.empty() && root) return fail("two roots");
        root = true;
        ++elements[name];
        attributes();
        if (!take('/')) open.push_back(name);
      }
      if (!take('>')) return fail("'>' is missing");
    }
    if (!open.empty()) fail("<" + open.back() + "> is not closed");
  }

  void fail(const std::string& what) {
    if (error.empty()) error = what + " before: " + std::string(in_.substr(at_, 40));
  }
  bool take(char c) {
    if (at_ >= in_.size() || in_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::string word() {
    const std::size_t start = at_;
    while (at_ < in_.size() && (std::isalnum(static_cast<unsigned char>(in_[at_])) ||
                                in_[at_] == '-' || in_[at_] == ':'))
      ++at_;
    return std::string(in_.substr(start, at_ - start));
  }
  void attributes() {
    std::map<std::string, int> seen;
    while (take(' ')) {
      const std::string name = word();
      if (name.empty() || ++seen[name] > 1) return fail("no name, or the same one twice");
      if (!take('=') || !take('"')) return fail("a value without quotes");
      characters('"');
      if (!take('"')) return fail("a quote is missing");
    }
  }
  // Reads up to `end`, which is not consumed.
  std::string characters(char end) {
    std::string out;
    while (at_ < in_.size() && in_[at_] != end && error.empty()) {
      const char c = in_[at_];
      if (c == '<' || (static_cast<unsigned char>(c) < 0x20 && c != '\n')) {
        fail("a character that has to be escaped");
      } else if (c == '&') {
        static const std::map<std::string_view, char> entities = {
            {"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"#39", '\''}};
        const std::size_t stop = in_.find(';', at_);
        const auto found =
            stop == in_.npos ? entities.end() : entities.find(in_.substr(at_ + 1, stop - at_ - 1));
        if (found == entities.end()) {
          fail("an unknown entity");
        } else {
          out += found->second;
          at_ = stop + 1;
        }
      } else {
        out += c;
        ++at_;
      }
    }
    return out;
  }

  std::string_view in_;
  std::size_t at_ = 0;
};

}  // namespace sten::testing
