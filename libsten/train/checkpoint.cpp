#include "libsten/train/checkpoint.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "kernels/isa.h"
#include "libsten/base/text.h"
#include "libsten/base/version.h"
#include "libsten/io/checkpoint_writer.h"
#include "libsten/io/mask_file.h"
#include "libsten/layout/masked.h"
#include "libsten/linalg/dense_gemm.h"
#include "libsten/nn/weights.h"

namespace sten {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* model_file = "model.safetensors";
constexpr const char* best_file = "best.safetensors";
constexpr std::string_view optimizer_prefix = "optimizer.", score_prefix = "score.";

TensorInfo info_of(const std::string& name, const Tensor& t) {
  return {name, t.dtype(), t.shape(), t.spec()};
}

void write_tensors(const OutputDirectory& to, const std::string& file,
                   const std::vector<std::pair<std::string, Tensor>>& tensors) {
  const auto out = to.new_file(file);
  std::vector<TensorInfo> plan;
  for (const auto& [name, t] : tensors) plan.push_back(info_of(name, t));
  CheckpointWriter writer(*out, {}, plan);
  for (const auto& [name, t] : tensors) writer.add(name, t);
  writer.finish();
  out->commit();
}

void write_model(const OutputDirectory& to, const Graph& g, const TrainState& state) {
  NamedValues<Tensor> weights;
  bool is_sparse = false;
  std::vector<TensorInfo> masked;
  for (const Parameter& p : state.parameters) {
    const bool has_mask = p.value.is<Masked>();
    weights.emplace(p.name, has_mask ? Tensor(p.value.to_dense()) : p.value);
    is_sparse |= !has_mask && !p.value.is<Dense>();
    if (has_mask) masked.push_back(info_of(p.name, p.value));
  }
  save_weights(g, weights, to.file(is_sparse ? sten_name(model_file) : model_file), false);
  const auto out = to.new_file("masks.safetensors");
  MaskWriter masks(*out, masked);
  for (const Parameter& p : state.parameters)
    if (p.value.is<Masked>()) masks.add(p.name, p.value.stored());
  masks.finish();
  out->commit();
}

Json json_of(const Measured& m) {
  return {{"loss", m.loss}, {"accuracy", m.accuracy}, {"count", m.count}};
}
Measured measured_of(const Json& j) {
  return {j.at("loss").get<double>(), j.at("accuracy").get<double>(), j.at("count").get<Index>()};
}

void write_json(const OutputDirectory& to, const TrainState& state, const RunRecord& r) {
  const RunMachine machine = RunMachine::here();
  Json json;
  json["schema"] = 1;
  json["version"] = machine.version;
  json["isa"] = machine.isa;
  json["products"] = machine.products;
  json["threads"] = machine.threads;
  json["step"] = state.step;
  json["data"] = r.data;
  json["first_weights"] = r.first_weights;
  json["before"] = {{"validation", json_of(r.validation_before)}, {"test", json_of(r.test_before)}};
  if (r.best_step) json["best"] = {{"step", *r.best_step}, {"loss", r.best_loss}};
  const std::string text = json.dump(2) + "\n";
  const auto out = to.new_file("state.json");
  out->write(std::as_bytes(std::span(text)));
  out->commit();
}

// A model file of that directory, by either name.
Checkpoint open_model(const fs::path& directory) {
  const fs::path sparse = directory / sten_name(model_file);
  return Checkpoint::open(fs::exists(sparse) ? sparse : directory / model_file);
}

}  // namespace

RunMachine RunMachine::here() {
  return {std::string(sten::version()), kernels::name_of(kernels::active_isa()),
          fastest_dense_library().name, sten::threads()};
}

std::string RunMachine::text() const {
  return fmt::format("{}, {}, {} thread{}", isa, products, threads, threads == 1 ? "" : "s");
}

void write_checkpoint(const OutputDirectory& to, const Graph& g, const TrainState& state,
                      const RunRecord& record) {
  write_model(to, g, state);
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const Parameter& p : state.parameters)
    for (const auto& [key, s] : p.state)
      tensors.emplace_back(fmt::format("{}{}.{}", optimizer_prefix, key, p.name), s);
  for (const auto& [name, s] : state.scores)
    tensors.emplace_back(std::string(score_prefix) + name, s);
  write_tensors(to, "state.safetensors", tensors);
  if (record.best_step && *record.best_step != state.step)
    write_tensors(to, best_file, {record.best_weights.begin(), record.best_weights.end()});
  write_json(to, state, record);
}

TrainCheckpoint read_checkpoint(const std::string& directory, const Graph& g) {
  const fs::path at = directory;
  TrainCheckpoint c;
  const std::string name = printable((at / "state.json").string());
  try {
    std::ifstream in(at / "state.json", std::ios::binary);
    const Json json = Json::parse(in);
    c.machine = {json.at("version"), json.at("isa"), json.at("products"), json.at("threads")};
    c.state.step = json.at("step");
    c.record.data = json.at("data");
    c.record.first_weights = json.at("first_weights");
    c.record.validation_before = measured_of(json.at("before").at("validation"));
    c.record.test_before = measured_of(json.at("before").at("test"));
    if (json.contains("best")) {
      c.record.best_step = json.at("best").at("step").get<Index>();
      c.record.best_loss = json.at("best").at("loss");
    }
  } catch (const Json::exception&) {
    fail("{}: is not the state of a run", name);
  }
  NamedValues<Tensor> weights = load_weights(g, open_model(at));
  const Checkpoint masks = Checkpoint::open(at / "masks.safetensors");
  const Checkpoint rest = Checkpoint::open(at / "state.safetensors");
  for (const Weight& w : g.weights()) {
    Tensor value = weights.at(w.name);
    if (const CheckpointTensor* m = masks.find(w.name))
      value = registry().pack(value.to_dense(), read_mask(masks, *m), Spec("masked"));
    c.state.parameters.emplace_back(w.name, std::move(value));
  }
  const auto has_prefix = [](const std::string& n, std::string_view p) { return n.starts_with(p); };
  for (const CheckpointTensor& t : rest.tensors()) {
    if (has_prefix(t.name, score_prefix)) {
      c.state.scores.emplace(t.name.substr(score_prefix.size()), rest.load(t));
      continue;
    }
    const std::size_t dot = t.name.find('.', optimizer_prefix.size());
    if (!has_prefix(t.name, optimizer_prefix) || dot == std::string::npos)
      fail("{}: {} is no part of a state", rest.name(), quote(t.name));
    const std::string key = t.name.substr(optimizer_prefix.size(), dot - optimizer_prefix.size());
    const auto p = std::ranges::find(c.state.parameters, t.name.substr(dot + 1), &Parameter::name);
    if (p == c.state.parameters.end())
      fail("{}: {} is of no weight of the model", rest.name(), quote(t.name));
    p->state.emplace(key, rest.load(t));
  }
  if (c.record.best_step == c.state.step) {
    for (const Parameter& p : c.state.parameters) c.record.best_weights.emplace(p.name, p.value);
  } else if (c.record.best_step) {
    c.record.best_weights = load_weights(g, Checkpoint::open(at / best_file));
  }
  return c;
}

}  // namespace sten
