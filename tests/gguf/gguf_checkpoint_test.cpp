// SPDX-License-Identifier: Apache-2.0
// GGUF files written by the package gguf (make_files.py), as checkpoints.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "libsten/core/base/error.h"
#include "libsten/core/tensor/low_floats.h"
#include "libsten/files/checkpoint/checkpoint.h"
#include "libsten/files/gguf/blocks.h"
#include "tests/support/bad_input.h"
#include "tests/support/gguf_bytes.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"
#include "tests/support/warnings.h"

using namespace sten;
using namespace sten::testing;

namespace {

std::string file(const std::string& name) { return STEN_SOURCE_DIR "/tests/gguf/files/" + name; }

// Checks that both have the same tensors, bit for bit.
void check_equal(const Checkpoint& a, const Checkpoint& b) {
  CHECK(a.tensors().size() == b.tensors().size());
  for (const CheckpointTensor& t : b.tensors()) {
    CAPTURE(t.name);
    const CheckpointTensor* u = a.find(t.name);
    REQUIRE(u);
    CHECK(u->shape == t.shape);
    // numpy has no bfloat16: the file with the expected values has float32.
    const bool is_wide = u->dtype == DType::BF16;
    REQUIRE((is_wide ? DType::F32 : u->dtype) == t.dtype);
    const Tensor loaded = a.load(*u);
    const Dense x = (is_wide ? widened(loaded) : loaded).to_dense(), y = b.load(t).to_dense();
    REQUIRE(x.values.bytes().size() == y.values.bytes().size());
    CHECK(std::memcmp(x.values.bytes().data(), y.values.bytes().data(), x.values.bytes().size()) ==
          0);
    if (!is_wide) CHECK(u->bytes() == t.bytes());
  }
}

std::string open_error(const GgufBytes& bytes) {
  const TempDir dir;
  const std::string path = dir / "m.gguf";
  std::ofstream(path, std::ios::binary) << bytes.str();
  return error_of([&] { Checkpoint::open(path); });
}

}  // namespace

TEST_CASE("dequantization of every type is bit-identical to gguf.quants.dequantize()") {
  const Warnings warnings;
  check_equal(Checkpoint::open(file("types.gguf")), Checkpoint::open(file("types.safetensors")));
  REQUIRE(warnings.all.size() == 1);
  CHECK(warnings.all[0] == file("types.gguf") +
                               ": architecture 'unknown-model' has no table of Hugging Face names: "
                               "the names of GGUF are used");
}

TEST_CASE("a Llama GGUF file is read with the names and row order of Hugging Face") {
  const Warnings warnings;
  const Checkpoint c = Checkpoint::open(file("llama.gguf"));
  check_equal(c, Checkpoint::open(file("llama.safetensors")));
  CHECK(warnings.all.empty());
  REQUIRE(c.gguf());
  CHECK(c.gguf()->text("general.name") == "tiny");
}

TEST_CASE("stacked experts are split into tensors with Hugging Face names and shapes") {
  const Warnings warnings;
  check_equal(Checkpoint::open(file("experts.gguf")),
              Checkpoint::open(file("experts.safetensors")));
  CHECK(warnings.all.empty());
}

TEST_CASE("separate experts of early Mixtral files have the usual Hugging Face names") {
  using namespace gguf_kind;
  const TempDir dir;
  const std::string path = dir / "m.gguf";
  std::ofstream(path, std::ios::binary)
      << GgufBytes{.metadata = {gguf_entry("general.architecture", text, gguf_text("llama")),
                                gguf_entry("llama.expert_count", u32, gguf_number(2u))},
                   .tensors = {gguf_tensor("blk.0.ffn_gate.1.weight", {4, 2}, 0, 0)},
                   .data = std::string(32, '\0')}
             .str();
  const Checkpoint c = Checkpoint::open(path);
  CHECK(c.find("model.layers.0.block_sparse_moe.experts.1.w1.weight"));
}

TEST_CASE("unquantized tensors, including experts, stay memory-mapped") {
  const auto is_mapped = [&](const std::string& name, const std::string& tensor) {
    const Checkpoint c = Checkpoint::open(file(name));
    const auto bytes = c.shards().front().file.bytes();
    const Dense d = c.load(*c.find(tensor)).to_dense();
    const std::byte* at = d.values.bytes().data();
    return at >= bytes.data() && at < bytes.data() + bytes.size();
  };
  CHECK(is_mapped("llama.gguf", "model.embed_tokens.weight"));
  CHECK(is_mapped("llama.gguf", "model.norm.weight"));
  CHECK(!is_mapped("llama.gguf", "lm_head.weight"));
  CHECK(is_mapped("experts.gguf", "model.layers.0.mlp.experts.2.down_proj.weight"));
  CHECK(is_mapped("experts.gguf", "model.layers.0.mlp.shared_expert_gate.weight"));
  CHECK(!is_mapped("experts.gguf", "model.layers.0.mlp.experts.2.up_proj.weight"));
}

TEST_CASE("quantization is bit-identical to gguf.quants.quantize()") {
  const Warnings warnings;
  const Checkpoint c = Checkpoint::open(file("quantized.gguf"));
  const CheckpointTensor& from = *c.find("f32");
  const Dense x = c.load(from).to_dense();
  for (const char* name : {"f32", "f16", "bf16", "q8_0", "q4_0"}) {
    CAPTURE(name);
    const CheckpointTensor& t = *c.find(name);
    const auto expected = c.bytes(t, t.entries.front());
    const Array<std::byte> bytes =
        encode_gguf(x.values, x.extents, {gguf_output_type(name), GgufChange::none, 1, name});
    REQUIRE(bytes.size() == expected.size());
    CHECK(std::memcmp(bytes.data(), expected.data(), bytes.size()) == 0);
  }
  CHECK(error_of([] { gguf_output_type("q2_k"); }) ==
        "--type: expected f32, f16, bf16, q8_0 or q4_0, got 'q2_k'");
}

TEST_CASE("encode_gguf and decode_gguf round trip, with reordered rows or 1 added") {
  const Dense x = Dense::of({12, 2}, {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12,
                                      13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24});
  for (const GgufChange change : {GgufChange::rotary_query, GgufChange::query_key_value,
                                  GgufChange::add_one, GgufChange::none}) {
    const GgufStorage storage{gguf_type("f32"), change, 2, "x"};
    const Array<std::byte> bytes = encode_gguf(x.values, x.extents, storage);
    const Values back = decode_gguf(bytes, x.extents, storage);
    CHECK(std::ranges::equal(back.as<float>(), x.values.as<float>()));
    const bool is_same = std::memcmp(bytes.data(), x.values.bytes().data(), bytes.size()) == 0;
    CHECK(is_same == (change == GgufChange::none));
  }
}

TEST_CASE("GGUF files that are split or do not fit their architecture are rejected") {
  using namespace gguf_kind;
  const std::string llama = gguf_entry("general.architecture", text, gguf_text("llama"));
  const std::string heads = gguf_entry("llama.attention.head_count", u32, gguf_number(3u));
  GgufBytes bytes{.metadata = {llama},
                  .tensors = {gguf_tensor("blk.0.attn_q.weight", {1, 8}, 0, 0)},
                  .data = std::string(32, '\0')};
  const std::string missing = open_error(bytes);
  CHECK(missing.ends_with("m.gguf: missing integer 'llama.attention.head_count' in the metadata"));
  bytes.metadata.push_back(heads);
  const std::string rows = open_error(bytes);
  CHECK(
      rows.ends_with("m.gguf: 'blk.0.attn_q.weight': shape [8, 1]: expected 3 attention heads of a "
                     "multiple of 2 rows"));
  bytes.tensors = {gguf_tensor("blk.0.attn_q.weight", {}, 0, 0)};
  const std::string scalar = open_error(bytes);
  CHECK(
      scalar.ends_with("m.gguf: 'blk.0.attn_q.weight': shape []: expected 3 attention heads of a "
                       "multiple of 2 rows"));
  bytes.metadata.push_back(gguf_entry("split.count", u32, gguf_number(4u)));
  const std::string part = open_error(bytes);
  CHECK(
      part.ends_with("m.gguf: expected a whole model, got one of 4 parts (merge them: "
                     "llama-gguf-split --merge)"));
  REQUIRE(held(154, !missing.empty() && !rows.empty() && !scalar.empty() && !part.empty()));
}

TEST_CASE("GGUF experts that contradict the metadata or each other are rejected") {
  using namespace gguf_kind;
  const auto opened = [&](const std::vector<std::string>& tensors, std::uint32_t count) {
    return open_error({.metadata = {gguf_entry("general.architecture", text, gguf_text("qwen3moe")),
                                    gguf_entry("qwen3moe.expert_count", u32, gguf_number(count))},
                       .tensors = tensors,
                       .data = std::string(1024, '\0')});
  };
  const auto stack = [](const char* name, const std::vector<std::uint64_t>& dimensions,
                        std::uint64_t offset) {
    return gguf_tensor(fmt::format("blk.0.ffn_{}_exps.weight", name), dimensions, 0, offset);
  };
  const std::string gate = stack("gate", {2, 3, 4}, 0), up = stack("up", {2, 3, 4}, 96),
                    down = stack("down", {3, 2, 4}, 192);
  CHECK(opened({gate, up, down}, 4).empty());
  struct Case {
    std::vector<std::string> tensors;
    std::uint32_t count;
    std::string error;
  };
  const Case cases[] = {
      {{gate, up, down},
       5,
       "'blk.0.ffn_gate_exps.weight': expected a stack [5, rows, columns] as "
       "'qwen3moe.expert_count' says, got [4, 3, 2]"},
      {{gate, stack("up", {2, 3, 3}, 96), down},
       4,
       "'blk.0.ffn_up_exps.weight': expected a stack [4, rows, columns] as "
       "'qwen3moe.expert_count' says, got [3, 3, 2]"},
      {{stack("gate", {6, 4}, 0)},
       4,
       "'blk.0.ffn_gate_exps.weight': expected a stack [4, rows, columns] as "
       "'qwen3moe.expert_count' says, got [4, 6]"},
      {{stack("gate", {0, 3, 4000000000}, 0)},
       4000000000,
       "'blk.0.ffn_gate_exps.weight': expected a stack [4000000000, rows, columns] as "
       "'qwen3moe.expert_count' says, got [4000000000, 3, 0]"},
      {{gate, up}, 4, "missing 'blk.0.ffn_down_exps.weight' beside the other stacks of experts"},
      {{gate, up, stack("down", {2, 3, 4}, 192)},
       4,
       "'blk.0.ffn_down_exps.weight': expected the shape [4, 2, 3] beside "
       "'blk.0.ffn_gate_exps.weight' of [4, 3, 2], got [4, 3, 2]"},
      {{gguf_tensor("output_norm.weight", {2}, 0, 0)},
       4,
       "metadata 'qwen3moe.expert_count': expected 0 without tensors of experts, got 4"},
  };
  bool all = true;
  for (const Case& c : cases) {
    const std::string error = opened(c.tensors, c.count);
    CAPTURE(error);
    CHECK(error.ends_with("m.gguf: " + c.error));
    all = all && error.ends_with(c.error);
  }
  const std::string missing =
      open_error({.metadata = {gguf_entry("general.architecture", text, gguf_text("qwen3moe"))},
                  .tensors = {gate},
                  .data = std::string(1024, '\0')});
  CHECK(missing.ends_with("m.gguf: missing integer 'qwen3moe.expert_count' in the metadata"));
  REQUIRE(held(156, all && !missing.empty()));
}
