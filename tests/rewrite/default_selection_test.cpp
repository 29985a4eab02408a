// SPDX-License-Identifier: Apache-2.0
// The default selection on the tensors of real models. A line of architectures/*.txt has NAME SHAPE
// and "selected" or the skip reason; {0-11} and {a,b} expand to several names. STEN_UPDATE_GOLDEN=1
// writes the table of docs/pruning.md from them.
#include "libsten/programs/rewrite/default_selection.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "libsten/core/base/text.h"

using namespace sten;

namespace {

const std::string source = STEN_SOURCE_DIR;

struct Listed {
  TensorInfo tensor;
  std::string wanted;
};

struct Model {
  std::string title;
  std::vector<Listed> tensors;

  std::vector<SkipReason> judged() const {
    std::vector<const TensorInfo*> infos;
    for (const Listed& l : tensors) infos.push_back(&l.tensor);
    return skip_reasons(infos);
  }
};

std::vector<std::string> expand(const std::string& pattern) {
  const std::size_t open = pattern.find('{');
  if (open == std::string::npos) return {pattern};
  const std::size_t close = pattern.find('}', open);
  REQUIRE(close != std::string::npos);
  std::string inside = pattern.substr(open + 1, close - open - 1);
  std::vector<std::string> names;
  const auto add = [&](const std::string& part) {
    for (const std::string& name :
         expand(pattern.substr(0, open) + part + pattern.substr(close + 1)))
      names.push_back(name);
  };
  int first = 0, last = 0;
  if (std::sscanf(inside.c_str(), "%d-%d", &first, &last) == 2) {
    for (int i = first; i <= last; ++i) add(std::to_string(i));
    return names;
  }
  std::istringstream parts(inside);
  for (std::string part; std::getline(parts, part, ',');) add(part);
  return names;
}

// "[2,3]", or "BF16[2,3]".
TensorInfo tensor_of(const std::string& name, const std::string& form) {
  const std::size_t open = form.find('[');
  REQUIRE(open != std::string::npos);
  TensorInfo t;
  t.name = name;
  if (open > 0) t.dtype = dtype_from(form.substr(0, open)).value();
  std::istringstream extents(form.substr(open + 1, form.size() - open - 2));
  for (std::string extent; std::getline(extents, extent, ',');)
    t.shape.push_back(std::stoll(extent));
  return t;
}

Model read_model(const std::filesystem::path& path) {
  std::ifstream file(path);
  REQUIRE(file);
  Model model;
  std::string line;
  std::getline(file, line);
  model.title = line.substr(2);
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string names, form, wanted;
    words >> names >> form;
    std::getline(words >> std::ws, wanted);
    for (const std::string& name : expand(names))
      model.tensors.push_back({tensor_of(name, form), wanted});
  }
  return model;
}

std::vector<Model> models() {
  std::set<std::filesystem::path> paths;
  for (const auto& entry :
       std::filesystem::directory_iterator(source + "/tests/rewrite/architectures"))
    paths.insert(entry.path());
  std::vector<Model> all;
  for (const auto& path : paths) all.push_back(read_model(path));
  std::sort(all.begin(), all.end(),
            [](const Model& a, const Model& b) { return a.title < b.title; });
  return all;
}

std::string table(const std::vector<Model>& all) {
  std::string text = "| model | tensors | selected | left alone |\n|---|---|---|---|\n";
  for (const Model& m : all) {
    const std::vector<SkipReason> why = m.judged();
    const std::string left = left_alone(why);
    text += fmt::format("| {} | {} | {} | {} |\n", m.title, why.size(),
                        std::count(why.begin(), why.end(), SkipReason::no),
                        left.substr(left.find(' ', 5) + 1));
  }
  return text;
}

SkipReason alone(const std::string& name, Shape shape) {
  TensorInfo t;
  t.name = name;
  t.shape = std::move(shape);
  return skip_reasons(std::vector<const TensorInfo*>{&t}).front();
}

}  // namespace

TEST_CASE("the default selection matches the expected tensors and skip reasons of real models") {
  const std::vector<Model> all = models();
  CHECK(all.size() >= 12);
  for (const Model& m : all) {
    const std::vector<SkipReason> why = m.judged();
    std::set<std::string> names;
    for (std::size_t i = 0; i < why.size(); ++i) {
      const Listed& l = m.tensors[i];
      CAPTURE(m.title);
      CAPTURE(l.tensor.name);
      CHECK(names.insert(l.tensor.name).second);
      CHECK((why[i] == SkipReason::no ? "selected" : reason(why[i])) == l.wanted);
    }
  }
}

TEST_CASE("skip reasons of single tensors by name and shape") {
  CHECK(alone("pos_emb.weight", {1024, 512}) == SkipReason::embedding);
  CHECK(alone("token_emb.emb.weight", {20000, 512}) == SkipReason::embedding);
  CHECK(alone("embedder.weight", {256000, 2048}) == SkipReason::embedding);
  CHECK(alone("token_embedder.weight", {1000, 64}) == SkipReason::embedding);
  CHECK(alone("x_embedder.weight", {3072, 64}) == SkipReason::no);
  CHECK(alone("embeddings_project.weight", {256, 128}) == SkipReason::no);
  CHECK(alone("pos_embed.weight", {1, 197, 768}) == SkipReason::embedding);
  CHECK(alone("patch_embed.weight", {768, 3, 16, 16}) == SkipReason::no);
  CHECK(alone("model.layers.0.mlp.gate.weight", {128, 2048}) == SkipReason::router);
  CHECK(alone("model.layers.0.mlp.gate.weight", {8192, 2048}) == SkipReason::no);
  CHECK(alone("model.layers.0.mlp.shared_expert_gate.weight", {1, 2048}) == SkipReason::router);
  CHECK(alone("encoder.block.1.mlp.router.classifier.weight", {8, 768}) == SkipReason::router);
  CHECK(alone("blocks.0.sa.heads.0.key.weight", {16, 64}) == SkipReason::no);
  CHECK(alone("heads.head.weight", {1000, 768}) == SkipReason::head);
  CHECK(alone("score.weight", {2, 4096}) == SkipReason::head);
  CHECK(alone("fc.weight", {1000, 2048}) == SkipReason::head);
  CHECK(alone("layer.0.fc.weight", {1000, 2048}) == SkipReason::no);
  CHECK(alone("pre_classifier.weight", {768, 768}) == SkipReason::no);
  CHECK(alone("attn.in_proj_weight", {768, 256}) == SkipReason::no);
  CHECK(alone("h.0.LN_1.weight", {2, 2}) == SkipReason::norm);
  CHECK(alone("weight", {2, 2}) == SkipReason::no);
  CHECK(alone("", {2, 2}) == SkipReason::name);
  CHECK(alone("..weight", {2, 2}) == SkipReason::no);
}

TEST_CASE("only the last layer of a multi-layer head is skipped as a head") {
  using Layers = std::vector<std::pair<std::string, Shape>>;
  const auto heads = [](const Layers& layers) {
    std::vector<TensorInfo> tensors(layers.size());
    std::vector<const TensorInfo*> infos;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      tensors[i].name = layers[i].first + ".weight";
      tensors[i].shape = layers[i].second;
      infos.push_back(&tensors[i]);
    }
    const std::vector<SkipReason> why = skip_reasons(infos);
    std::vector<std::string> found;
    for (std::size_t i = 0; i < why.size(); ++i)
      if (why[i] == SkipReason::head)
        found.push_back(layers[i].first);
      else
        CHECK(why[i] == SkipReason::no);
    return found;
  };
  using Names = std::vector<std::string>;
  CHECK(heads({{"classifier.0", {4096, 4096}},
               {"classifier.3", {4096, 4096}},
               {"classifier.6", {1000, 4096}}}) == Names{"classifier.6"});
  CHECK(heads({{"lm_head.dense", {768, 768}}}).empty());  // its decoder is the embedding
  CHECK(heads({{"lm_head.dense", {768, 768}}, {"lm_head.decoder", {50265, 768}}}) ==
        Names{"lm_head.decoder"});
  CHECK(heads({{"head.dense", {768, 768}}, {"decoder", {50368, 768}}}).empty());
  CHECK(heads({{"head.dense", {768, 768}}, {"classifier", {3, 768}}}) == Names{"classifier"});
  CHECK(heads({{"classifier.linear_hidden", {768, 768}}, {"classifier.linear_out", {2, 768}}}) ==
        Names{"classifier.linear_out"});
  CHECK(heads({{"head.mlp.0", {64, 64}}, {"head.mlp.2", {8, 64}}}) == Names{"head.mlp.2"});
  CHECK(heads({{"head.fc", {1000, 768}}}) == Names{"head.fc"});
  CHECK(heads({{"decode_head.linear_c.0.proj", {256, 32}},
               {"decode_head.linear_fuse", {256, 1024, 1, 1}},
               {"decode_head.classifier", {150, 256, 1, 1}}}) == Names{"decode_head.classifier"});
  // Side by side, because no result fits the input of another.
  CHECK(heads({{"head.cls.0", {91, 256, 3, 3}}, {"head.cls.1", {91, 512, 3, 3}}}) ==
        Names{"head.cls.0", "head.cls.1"});
  CHECK(heads({{"bbox_predictor.layers.0", {256, 256}}, {"bbox_predictor.layers.1", {4, 256}}}) ==
        Names{"bbox_predictor.layers.1"});
  // Attention pooling in vision_model.head is not an output head.
  CHECK(heads({{"vision_model.head.attention.out_proj", {768, 768}}}).empty());
  CHECK(heads({{"h.4.head", {1, 0}}, {"h.5.head", {0, 1}}}) == Names{"h.4.head", "h.5.head"});
}

TEST_CASE("fixed bases (DFL, STFT) are not selected") {
  CHECK(alone("model.22.dfl.conv.weight", {1, 16, 1, 1}) == SkipReason::basis);
  CHECK(alone("stft.conv.weight", {258, 1, 256}) == SkipReason::basis);
  CHECK(alone("basis_proj.weight", {8, 8}) == SkipReason::basis);
  CHECK(alone("stft_proj.weight", {8, 8}) == SkipReason::no);
  TensorInfo t;
  t.name = "stft.forward_basis_buffer";
  t.shape = {258, 1, 256};
  t.use = TensorUse::weight;
  CHECK(skip_reasons(std::vector<const TensorInfo*>{&t}).front() == SkipReason::basis);
}

TEST_CASE("a tensor's use in a graph overrides its name for heads and embeddings") {
  TensorInfo t;
  t.shape = {64, 512};
  for (const char* name : {"lm_head.weight", "embed.weight", "classifier.weight", "x"}) {
    t.name = name;
    t.use = TensorUse::weight;
    CHECK(skip_reasons(std::vector<const TensorInfo*>{&t}).front() == SkipReason::no);
    t.use = TensorUse::head;
    CHECK(skip_reasons(std::vector<const TensorInfo*>{&t}).front() == SkipReason::head);
  }
  // Rows are inputs.
  t.name = "mlp.gate.weight";
  t.use = TensorUse::weight;
  CHECK(skip_reasons(std::vector<const TensorInfo*>{&t}).front() == SkipReason::router);
  t.in_by_out = true;
  CHECK(skip_reasons(std::vector<const TensorInfo*>{&t}).front() == SkipReason::no);
  t.shape = {512, 64};
  CHECK(skip_reasons(std::vector<const TensorInfo*>{&t}).front() == SkipReason::router);
}

TEST_CASE("the table of models in docs/pruning.md matches the default selection") {
  const std::string path = source + "/docs/pruning.md";
  std::ostringstream read;
  read << std::ifstream(path).rdbuf();
  const std::string page = read.str();
  const std::string begin =
      "<!-- written by tests/rewrite/default_selection_test.cpp from tests/rewrite/architectures "
      "-->\n";
  const std::size_t from = page.find(begin);
  REQUIRE(from != std::string::npos);
  const std::size_t at = from + begin.size(), to = page.find("<!-- end -->", at);
  REQUIRE(to != std::string::npos);
  const std::string wanted = table(models());
  if (std::getenv("STEN_UPDATE_GOLDEN"))
    std::ofstream(path) << page.substr(0, at) << wanted << page.substr(to);
  else
    CHECK(page.substr(at, to - at) == wanted);
}
