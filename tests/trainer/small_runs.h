// SPDX-License-Identifier: Apache-2.0
// Small recipes with their data, which train in milliseconds.
#pragma once
#include <memory>
#include <vector>

#include "libsten/training/trainer/recovery_json.h"
#include "libsten/training/trainer/trainer.h"
#include "tests/support/npy_files.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"

namespace sten::testing {

// 96 rows of 16 values around one of 4 centres.
inline std::string example_rows() {
  Dice dice(1);
  std::vector<double> centres(4 * 16);
  for (double& c : centres) c = dice.normal();
  std::string text;
  for (int row = 0; row < 96; ++row) {
    const Index label = dice.below(4);
    for (int i = 0; i < 16; ++i)
      text += fmt::format("{:.4f},", centres[label * 16 + i] + 0.5 * dice.normal());
    text += fmt::format("{}\n", label);
  }
  return text;
}

// An MLP of 16, 32, 32 and 4 features on these rows, 12 steps.
inline Recipe small_mlp(const TempDir& dir) {
  Recipe r;
  r.name = "small-mlp";
  r.model.kind = "mlp";
  r.model.sizes = {16, 32, 32, 4};
  r.data.kind = "csv";
  r.data.file = dir.write("rows.csv", example_rows());
  r.data.train = 0.7;
  r.data.validation = 0.15;
  r.optimizer.rate = 0.01;
  r.steps = 12;
  r.batch = 16;
  return r;
}

// A BERT of 2 layers on a text of 9 different characters, one of them frequent, 6 steps.
inline Recipe small_bert(const TempDir& dir) {
  Dice dice(2);
  std::string text, vocabulary = R"({"[PAD]": 0, "[MASK]": 1)";
  for (int i = 0; i < 9; ++i) vocabulary += fmt::format(R"(, "{}": {})", char('a' + i), i + 2);
  for (int i = 0; i < 3000; ++i)
    text += static_cast<char>('a' + (dice.below(3) ? 0 : dice.below(9)));
  Recipe r;
  r.name = "small-bert";
  r.model.kind = "bert";
  r.model.config = dir.write(
      "config.json",
      R"({"vocab_size": 11, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
          "intermediate_size": 32, "max_position_embeddings": 24, "initializer_range": 0.1})");
  r.data.kind = "masked-text";
  r.data.text = {dir.write("text.txt", text)};
  r.data.vocabulary = dir.write("vocab.json", vocabulary + "}");
  r.data.window = 24;
  r.optimizer.rate = 0.01;
  r.steps = 6;
  r.batch = 8;
  return r;
}

// A language model on a text in which each character determines the next, 30 steps.
inline Recipe small_text_run(const TempDir& dir, const std::string& kind,
                             const std::string& config) {
  std::string text, vocabulary = "{";
  for (int i = 0; i < 9; ++i)
    vocabulary += fmt::format(R"({}"{}": {})", i ? ", " : "", char('a' + i), i);
  for (int i = 0; i < 2000; ++i) text += static_cast<char>('a' + i * (i % 2 + 1) % 9);
  Recipe r;
  r.name = "small-" + kind;
  r.model.kind = kind;
  r.model.config = dir.write("config.json", config);
  r.data.kind = "text";
  r.data.text = {dir.write("text.txt", text)};
  r.data.vocabulary = dir.write("vocab.json", vocabulary + "}");
  r.data.window = 20;
  r.optimizer.rate = 0.01;
  r.steps = 30;
  r.batch = 8;
  return r;
}

// A GPT of 2 layers.
inline Recipe small_gpt(const TempDir& dir) {
  return small_text_run(
      dir, "gpt",
      R"({"model_type": "gpt2", "vocab_size": 9, "n_positions": 20, "n_embd": 16, "n_layer": 2,
          "n_head": 2, "initializer_range": 0.1})");
}

// A Llama of 2 layers whose 4 heads share 2 heads of keys and values.
inline Recipe small_llama(const TempDir& dir) {
  return small_text_run(
      dir, "decoder",
      R"({"model_type": "llama", "vocab_size": 9, "max_position_embeddings": 20, "hidden_size": 16,
          "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4,
          "num_key_value_heads": 2, "initializer_range": 0.1})");
}

// A wide ResNet of 10 layers with dropout on 48 images of 8x8 that are bright in one of 4 corners,
// 8 steps.
inline Recipe small_wide_resnet(const TempDir& dir) {
  Dice dice(3);
  std::string x, y;
  for (Index i = 0; i < 48; ++i) {
    y += static_cast<char>(i % 4);
    for (Index p = 0; p < 64; ++p) {
      const Index corner = p / 32 * 2 + p % 8 / 4;
      x += static_cast<char>(dice.below(100) + (corner == i % 4 ? 100 : 0));
    }
  }
  Recipe r;
  r.name = "small-wide-resnet";
  r.model.kind = "wide-resnet";
  r.model.depth = 10;
  r.model.classes = 4;
  r.model.channels = 1;
  r.model.dropout = 0.2;
  r.data.kind = "arrays";
  r.data.features = dir.write("images.npy", of_shape("(48, 8, 8, 1)", x));
  r.data.labels = dir.write("labels.npy", of_shape("(48,)", y));
  r.data.scale = 1.0 / 64;
  r.data.shift = -1.5;
  r.data.train = 0.75;
  r.data.validation = 0.25;
  r.optimizer.rate = 0.01;
  r.steps = 8;
  r.batch = 16;
  return r;
}

inline SparsityRecipe sparse(const std::string& target, const std::string& sparsifier) {
  SparsityRecipe s;
  s.target = target;
  s.sparsifier = Spec::parse(sparsifier);
  return s;
}

inline std::unique_ptr<Trainer> trainer_of(const Recipe& r) {
  return std::make_unique<Trainer>(std::make_shared<const Task>(r));
}

inline const Parameter& parameter(const Trainer& t, std::string_view name) {
  for (const Parameter& p : t.state().parameters)
    if (p.name == name) return p;
  fail("there is no {}", name);
}
inline Mask mask_in(const Trainer& t, std::string_view name) {
  return parameter(t, name).value.stored();
}

// The bits of all state that a step depends on.
inline std::vector<std::pair<std::string, std::vector<std::byte>>> bits_of(const TrainState& s) {
  std::vector<std::pair<std::string, std::vector<std::byte>>> all;
  const auto add = [&](const std::string& name, const Tensor& t) {
    for (const Part& p : t.save().parts)
      all.emplace_back(name + "::" + std::string(p.name),
                       std::vector(p.bytes.begin(), p.bytes.end()));
  };
  for (const Parameter& p : s.parameters) {
    add(p.name, p.value);
    for (const auto& [key, t] : p.state) add(p.name + "." + key, t);
  }
  for (const auto& [name, t] : s.scores) add(name + ".score", t);
  for (const RecoveryState& r : s.recoveries) {
    const std::string text = dump_json(to_json(r));
    const auto bytes = std::as_bytes(std::span(text));
    all.emplace_back("recovery", std::vector(bytes.begin(), bytes.end()));
    for (const auto& [name, t] : tensors_before(r)) add(name, t);
  }
  return all;
}

}  // namespace sten::testing
