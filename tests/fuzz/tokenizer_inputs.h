// SPDX-License-Identifier: Apache-2.0
// Tokenizers made from the bytes of a fuzzer's input.
#pragma once
#include <string>
#include <string_view>

#include "tests/fuzz/fuzz.h"

namespace sten::fuzz {

// A tokenizer.json whose steps and expressions the bytes select; the vocabulary is fixed.
inline std::string tokenizer_json(Bytes& in) {
  constexpr std::string_view normalizers[] = {
      R"({"type":"NFC"})",
      R"({"type":"NFKD"})",
      R"({"type":"Lowercase"})",
      R"({"type":"StripAccents"})",
      R"({"type":"Strip","strip_left":true,"strip_right":true})",
      R"({"type":"Prepend","prepend":"▁"})",
      R"({"type":"Replace","pattern":{"String":" "},"content":"▁"})",
      R"({"type":"Replace","pattern":{"Regex":" {2,}|a+b?"},"content":""})",
      R"({"type":"BertNormalizer"})"};
  constexpr std::string_view expressions[] = {
      R"([a-zé]+|\\s+(?!\\S)|\\s+)",
      R"((?i:'s|'LL)|[^\\r\\na-z]?[a-z]+|[0-9]{1,3}|\\s*[\\r\\n]+|\\s+(?!\\S))",
      R"([^a-z]|\\p{Zs}b?)", R"(\\s+(?!\\S))", R"(.{2}|\\S▁)"};
  constexpr std::string_view behaviors[] = {"Removed", "Isolated", "MergedWithPrevious",
                                            "MergedWithNext", "Contiguous"};
  constexpr std::string_view schemes[] = {"always", "first", "never"};
  constexpr std::string_view decoders[] = {
      R"({"type":"ByteLevel"})",
      R"({"type":"ByteFallback"})",
      R"({"type":"Fuse"})",
      R"({"type":"Metaspace","replacement":"▁","prepend_scheme":"always"})",
      R"({"type":"Strip","content":" ","start":1,"stop":2})",
      R"({"type":"Replace","pattern":{"String":"▁"},"content":" "})"};
  const auto truth = [&] { return in.below(2) ? "true" : "false"; };
  const auto list = [&](auto&& one) {
    std::string all;
    for (auto n = in.below(4); n > 0; --n) all += (all.empty() ? "" : ",") + one();
    return all;
  };
  const auto pre_tokenizer = [&]() -> std::string {
    const std::string b(in.one_of(behaviors)), t = truth();
    switch (in.below(6)) {
      case 0:
        return R"({"type":"Split","pattern":{"Regex":")" + std::string(in.one_of(expressions)) +
               R"("},"behavior":")" + b + R"(","invert":)" + t + "}";
      case 1:
        return R"({"type":"Digits","individual_digits":)" + t + "}";
      case 2:
        return R"({"type":"Punctuation","behavior":")" + b + R"("})";
      case 3:
        return R"({"type":"WhitespaceSplit"})";
      case 4:
        return R"({"type":"BertPreTokenizer"})";
      default:
        return R"({"type":"Metaspace","replacement":"▁","split":)" + t + R"(,"prepend_scheme":")" +
               std::string(in.one_of(schemes)) + R"("})";
    }
  };
  const bool byte_level = in.below(2);
  std::string pre = list(pre_tokenizer);
  if (byte_level)
    pre += std::string(pre.empty() ? "" : ",") + R"({"type":"ByteLevel","add_prefix_space":)" +
           truth() + R"(,"use_regex":)" + truth() + "}";
  const auto sequence = [](const char* key, const std::string& steps) {
    return R"({"type":"Sequence",")" + std::string(key) + "\":[" + steps + "]}";
  };
  std::string text = R"({"added_tokens":[{"id":1,"content":"ab","single_word":)";
  text += std::string(truth()) + R"(,"lstrip":)" + truth() + R"(,"rstrip":)" + truth();
  text += R"(,"normalized":)" + std::string(truth()) + R"(,"special":)" + truth() + "}";
  text += R"(],"normalizer":)";
  text += sequence("normalizers", list([&] { return std::string(in.one_of(normalizers)); }));
  text += R"(,"pre_tokenizer":)" + sequence("pretokenizers", pre) + R"(,"decoder":)";
  text += sequence("decoders", list([&] { return std::string(in.one_of(decoders)); }));
  if (!byte_level && in.below(2)) {
    text += R"(,"model":{"type":"Unigram","unk_id":0,"byte_fallback":)" + std::string(truth());
    return text + R"(,"vocab":[["<unk>",0],["ab",-2],["▁",-1],["▁a",-1.5],["a",-3],["b",-4],
      ["<0xC3>",0],["<0xA4>",0],["é",-5],["aa",-3.5],["▁▁",-6]]}})";
  }
  text += R"(,"model":{"type":"BPE","unk_token":"<unk>","fuse_unk":)" + std::string(truth());
  text += R"(,"ignore_merges":)" + std::string(truth()) + R"(,"byte_fallback":)";
  text += std::string(byte_level ? "false" : truth());
  return text + R"(,"vocab":{"<unk>":0,"ab":1,"a":2,"b":3,"aa":4,"aaa":5,"▁":6,"▁a":7,"▁▁":8,
    "Ġ":9,"Ġa":10,"é":11,"<0xC3>":12,"<0xA4>":13,"aab":14},"merges":[["a","a"],"a b",["aa","a"],
    ["▁","a"],["▁","▁"],["Ġ","a"],["aa","b"]]}})";
}

}  // namespace sten::fuzz
