// SPDX-License-Identifier: Apache-2.0
// Steps of a tokenizer.json. Errors have the JSON pointer and name unsupported features.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "libsten/core/base/json_reader.h"
#include "libsten/data/tokenizer/pipeline_tokenizer.h"

namespace sten::tokenizer_detail {

bool is_absent(const JsonReader& in, std::string_view key);  // or null
bool flag(const JsonReader& in, std::string_view key, bool fallback);
// The type of a member; "" for an absent one.
std::string type_of(const JsonReader& in, std::string_view key);
[[noreturn]] void fail_type(const JsonReader& in, std::string_view key, std::string_view wanted);
// Error for options that would change the ids.
void check_only(const JsonReader& in, std::string_view key, const nlohmann::ordered_json& value);

// The steps of a member, which may be a Sequence of steps in `list`; none if it is absent.
std::vector<JsonReader> steps_of(const JsonReader& in, std::string_view key, std::string_view list);
// {"String": text} or {"Regex": expression}.
TextPattern pattern_of(const JsonReader& in);

Normalizer normalizer_of(const JsonReader& in);
// The options of a BertNormalizer.
BertTextOptions bert_text_of(const JsonReader& in);
std::vector<PreTokenizerStep> pre_tokenizer_of(const JsonReader& in);
Metaspace metaspace_of(const JsonReader& in);
std::optional<std::vector<DecoderStep>> decoder_of(const JsonReader& in);
// The tokens around sequences.
SequenceTemplate post_processor_of(const JsonReader& in);

}  // namespace sten::tokenizer_detail
