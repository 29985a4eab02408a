// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/gguf/model_checks.h"

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"

namespace sten {
namespace {

using Json = nlohmann::ordered_json;

class ModelChecks {
 public:
  explicit ModelChecks(const GgufModelConfig& config) : c_(config), known_(config.architecture()) {}

  void run() const {
    check_activation();
    check_heads();
    check_biases();
    check_experts();
    if (known_.window_period > 0) check_gemma();
    if (c_.rotary_type() == "llama3") check_llama3();
    if (c_.rotary_type() == "yarn") check_yarn();
  }

 private:
  const Json& member(const char* key) const { return json_member(c_.json(), key); }

  template <class Expected, class Got>
  void expect(bool holds, const char* key, const Expected& expected, const Got& got) const {
    if (!holds)
      fail("{}: {}: expected {}, as llama.cpp computes {}, got {}", c_.name(), quote(key), expected,
           known_.name, got);
  }
  void expect_number(const Json& object, const char* key, double expected, double usual) const {
    const double got = c_.number(object, key, usual);
    expect(got == expected, key, expected, got);
  }
  void expect_flag(const char* key, bool expected, bool usual) const {
    const bool got = c_.flag(key, usual);
    expect(got == expected, key, expected, got);
  }

  // llama.cpp approximates each kind of gelu by tanh.
  void check_activation() const {
    const std::string key(known_.activation_key);
    const Json& given = member(key.c_str());
    if (!given.is_string()) return;
    const std::string& name = given.get_ref<const std::string&>();
    const bool is_gelu = name.starts_with("gelu"), is_silu = name == "silu" || name == "swish";
    expect(known_.activation == "silu" ? is_silu : is_gelu, key.c_str(), known_.activation,
           quote(name));
  }

  void check_heads() const {
    const std::uint32_t usual = c_.needed("hidden_size") / c_.needed("num_attention_heads");
    expect(known_.any_head_dim || c_.head_dim() == usual, "head_dim", usual, c_.head_dim());
  }

  void check_biases() const {
    const std::string_view name = known_.name;
    if (name.starts_with("qwen3") || name.starts_with("gemma") || name == "olmo2")
      expect_flag("attention_bias", false, false);
    if (name == "gptneox") expect_flag("attention_bias", true, true);
  }

  // llama.cpp has experts in every layer, and its own use of their weights.
  void check_experts() const {
    if (!known_.has_experts()) {
      if (c_.experts() > 0)
        fail("{}: experts of a {} are not supported in GGUF", c_.name(), known_.model_type);
      return;
    }
    if (c_.experts() == 0) fail("{}: missing {}", c_.name(), quote(known_.experts_key));
    c_.needed("num_experts_per_tok");
    if (known_.name == "llama") return;  // no other keys in config.json
    c_.needed("moe_intermediate_size");
    if (known_.name == "qwen2moe") c_.needed("shared_expert_intermediate_size");
    expect_flag("norm_topk_prob", known_.normalizes, false);
    const Json& step = member("decoder_sparse_step");
    const Json& dense = member("mlp_only_layers");
    if ((!step.is_null() && step != 1) || (!dense.is_null() && !dense.empty()))
      fail("{}: expected experts in every layer, as llama.cpp computes {}", c_.name(), known_.name);
  }

  void check_gemma() const {
    const std::int64_t width = c_.head_dim();
    const std::int64_t scalar =
        known_.query_scalar(c_.needed("num_hidden_layers"),
                            c_.needed("hidden_size") / c_.needed("num_attention_heads"), width);
    expect_number(c_.json(), "query_pre_attn_scalar", static_cast<double>(scalar), 256);
    if (known_.name == "gemma3") {
      expect(member("attn_logit_softcapping").is_null(), "attn_logit_softcapping", "null",
             "another value");
      return;
    }
    // Without a key, llama.cpp has the values of Gemma 2.
    for (const char* key : {"attn_logit_softcapping", "final_logit_softcapping"})
      expect(!c_.json().contains(key) || !member(key).is_null(), key, "a number", "null");
  }

  // A file has the factors of the frequencies, from which their parameters cannot be recovered.
  void check_llama3() const {
    if (known_.name != "llama")
      fail("{}: scaling 'llama3' of the rotary embedding: expected a llama, got {}", c_.name(),
           known_.model_type);
    for (const auto& [key, usual] : {std::pair("low_freq_factor", 1.0), {"high_freq_factor", 4.0}})
      if (const double got = c_.number(c_.rotary(), key, usual); got != usual)
        fail("{}: {}: expected {} as in Llama 3, since GGUF has no such key, got {}", c_.name(),
             quote(key), usual, got);
  }

  void check_yarn() const {
    expect_number(c_.rotary(), "beta_fast", 32, 32);
    expect_number(c_.rotary(), "beta_slow", 1, 1);
    const Json& truncates = json_member(c_.rotary(), "truncate");
    expect(truncates != false, "truncate", true, false);
  }

  const GgufModelConfig& c_;
  const GgufArchitecture& known_;
};

}  // namespace

void check_gguf_model(const GgufModelConfig& config) { ModelChecks(config).run(); }

}  // namespace sten
