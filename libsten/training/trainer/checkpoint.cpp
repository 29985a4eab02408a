// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/trainer/checkpoint.h"

#include <charconv>
#include <filesystem>

#include "kernels/isa.h"
#include "libsten/compute/linalg/dense_gemm.h"
#include "libsten/core/base/text.h"
#include "libsten/core/base/version.h"
#include "libsten/core/layout/masked.h"
#include "libsten/files/checkpoint/checkpoint_writer.h"
#include "libsten/files/checkpoint/mask_file.h"
#include "libsten/files/checkpoint/run_results.h"
#include "libsten/files/checkpoint/weight_names.h"
#include "libsten/files/system/checksum_manifest.h"
#include "libsten/model/nn/weights.h"
#include "libsten/training/task/lora.h"
#include "libsten/training/trainer/recovery_json.h"

namespace sten {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* manifest_file = "state.json";
constexpr const char* masks_file = "masks.safetensors";
constexpr const char* tensors_file = "state.safetensors";
constexpr const char* best_file = "best.safetensors";
constexpr std::string_view optimizer_prefix = "optimizer.", score_prefix = "score.",
                           residual_prefix = "residual.";

TensorInfo info_of(const std::string& name, const Tensor& t) {
  return {name, t.dtype(), t.shape(), t.spec()};
}

void write_tensors(const OutputDirectory& to, const std::string& file,
                   const std::vector<std::pair<std::string, Tensor>>& tensors,
                   const Metadata& metadata = {}) {
  const auto out = to.new_file(file);
  std::vector<TensorInfo> contents;
  for (const auto& [name, t] : tensors) contents.push_back(info_of(name, t));
  CheckpointWriter writer(*out, metadata, contents);
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
  save_weights(g, weights, to.file(is_sparse ? sten_name(run_model_name) : run_model_name), false);
  const auto out = to.new_file(masks_file);
  MaskWriter masks(*out, masked);
  for (const Parameter& p : state.parameters)
    if (p.value.is<Masked>()) masks.add(p.name, p.value.stored());
  masks.finish();
  out->commit();
}

Json json_of(const Measured& m) {
  Json j = {{"loss", real_json(m.loss)}, {"accuracy", m.accuracy}, {"count", m.count}};
  if (m.f1) j["f1"] = *m.f1;
  return j;
}
Measured measured_of(const JsonReader& in) {
  Measured m;
  m.loss = in["loss"].real();
  m.accuracy = in["accuracy"].number();
  m.count = static_cast<Index>(in["count"].natural());
  if (in.has("f1")) m.f1 = in["f1"].number();
  if (!(m.accuracy >= 0 && m.accuracy <= 1)) in["accuracy"].fail("expected a value in [0, 1]");
  if (m.f1 && !(*m.f1 >= 0 && *m.f1 <= 1)) in["f1"].fail("expected a value in [0, 1]");
  return m;
}

void write_json(const OutputDirectory& to, const TrainState& state, const RunManifest& r) {
  const RunMachine machine = RunMachine::here(r.ranks, r.device);
  Json json;
  json["schema"] = 1;
  json["version"] = machine.version;
  json["isa"] = machine.isa;
  json["products"] = machine.products;
  json["threads"] = machine.threads;
  if (machine.ranks > 1) json["ranks"] = machine.ranks;
  if (!machine.device.empty()) json["device"] = machine.device;
  json["step"] = state.step;
  for (const RecoveryState& r : state.recoveries) json["recoveries"].push_back(to_json(r));
  json["data"] = r.data;
  json["first_weights"] = r.first_weights;
  if (!r.teacher.empty()) json["teacher"] = r.teacher;
  json["before"] = {{"validation", json_of(r.validation_before)}, {"test", json_of(r.test_before)}};
  if (r.best_step) json["best"] = {{"step", *r.best_step}, {"loss", real_json(r.best_loss)}};
  json["metrics"] = {{"bytes", r.metrics_bytes}, {"hash", r.metrics_hash}};
  json["files"] = list_files(to.file(""));
  const std::string text = manifest_text(std::move(json));
  const auto out = to.new_file(manifest_file);
  out->write(std::as_bytes(std::span(text)));
  out->commit();
}

// Opens the model file of the directory, under either name.
Checkpoint open_model(const fs::path& directory) {
  const fs::path sparse = directory / sten_name(run_model_name);
  return Checkpoint::open(fs::exists(sparse) ? sparse : directory / run_model_name);
}

}  // namespace

RunMachine RunMachine::here(int ranks, Device device) {
  return {std::string(sten::version()),
          kernels::name_of(kernels::float32_isa()),
          dense_library().name,
          sten::threads(),
          ranks,
          device == Device::cpu ? "" : std::string(name_of(device))};
}

std::string RunMachine::text() const {
  return fmt::format("{}, {}, {} thread{}{}{}", isa, products, threads, threads == 1 ? "" : "s",
                     ranks > 1 ? fmt::format(", {} ranks", ranks) : "",
                     device.empty() ? "" : ", " + device);
}

const std::vector<std::string>& checkpoint_files() {
  static const std::vector<std::string> all = {manifest_file,  masks_file,
                                               tensors_file,   best_file,
                                               run_model_name, sten_name(run_model_name)};
  return all;
}

void write_checkpoint(const OutputDirectory& to, const Graph& g, const TrainState& state,
                      const RunManifest& manifest) {
  write_model(to, g, state);
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const Parameter& p : state.parameters)
    for (const auto& [key, s] : p.state)
      tensors.emplace_back(fmt::format("{}{}.{}", optimizer_prefix, key, p.name), s);
  for (const auto& [name, s] : state.scores)
    tensors.emplace_back(std::string(score_prefix) + name, s);
  for (const RecoveryState& r : state.recoveries)
    std::ranges::copy(tensors_before(r), std::back_inserter(tensors));
  for (const auto& [rank, residuals] : state.residuals)
    for (const auto& [name, x] : residuals)
      tensors.emplace_back(fmt::format("{}{}.{}", residual_prefix, rank, name), x);
  write_tensors(to, tensors_file, tensors);
  if (manifest.best_step && (*manifest.best_step != state.step || !state.is_measured))
    write_tensors(to, best_file, {manifest.best_weights.begin(), manifest.best_weights.end()},
                  orientation_of(g));
  write_json(to, state, manifest);
}

namespace {

void read_state_json(const fs::path& at, TrainCheckpoint& c) {
  const std::string path = at / manifest_file;
  const Json json = read_manifest(path);
  const JsonReader in(json, printable(path), Fault::input);
  check_files(at, in["files"], manifest_file);
  const auto natural = [](const JsonReader& n) { return static_cast<Index>(n.natural()); };
  c.machine = {in["version"].text(), in["isa"].text(), in["products"].text()};
  const auto number_of = [&](const char* key) {
    constexpr Index most = 1 << 20;
    const Index n = natural(in[key]);
    if (n < 1 || n > most) in[key].fail(fmt::format("expected 1 to {}, got {}", most, n));
    return static_cast<int>(n);
  };
  c.machine.threads = number_of("threads");
  if (in.has("ranks")) c.machine.ranks = number_of("ranks");
  if (in.has("device")) c.machine.device = in["device"].text();
  c.state.step = natural(in["step"]);
  if (in.has("recoveries"))
    for (const JsonReader& r : in["recoveries"].elements())
      c.state.recoveries.push_back(read_recovery(r));
  c.manifest.data = in["data"].text();
  c.manifest.first_weights = in["first_weights"].text();
  if (in.has("teacher")) c.manifest.teacher = in["teacher"].text();
  c.manifest.validation_before = measured_of(in["before"]["validation"]);
  c.manifest.test_before = measured_of(in["before"]["test"]);
  c.manifest.metrics_bytes = in["metrics"]["bytes"].natural();
  c.manifest.metrics_hash = in["metrics"]["hash"].text();
  if (!in.has("best")) return;
  c.manifest.best_step = natural(in["best"]["step"]);
  c.manifest.best_loss = in["best"]["loss"].real();
  if (*c.manifest.best_step > c.state.step)
    in["best"]["step"].fail("expected a step that the run has reached");
}

// The parts of the name of a tensor in state.safetensors.
struct StateName {
  std::string_view prefix, key, weight;  // no key for scores
};
StateName parts_of(const std::string& file, std::string_view name) {
  for (const std::string_view prefix : {score_prefix, optimizer_prefix, residual_prefix}) {
    if (!name.starts_with(prefix)) continue;
    const std::string_view rest = name.substr(prefix.size());
    if (prefix == score_prefix) return {prefix, "", rest};
    if (const std::size_t dot = rest.find('.'); dot != std::string_view::npos)
      return {prefix, rest.substr(0, dot), rest.substr(dot + 1)};
  }
  fail("{}: unknown tensor {} in a training state", file, quote(name));
}

// The rank of a residual in a checkpoint of a run of `ranks`.
int rank_of(const StateName& name, int ranks, const std::string& file) {
  int rank = -1;
  const auto [end, error] = std::from_chars(name.key.begin(), name.key.end(), rank);
  if (error != std::errc() || end != name.key.end() || rank < 0 || rank >= ranks)
    fail("{}: residual of {}: expected a rank from 0 to {}, got {}", file, quote(name.weight),
         ranks - 1, quote(name.key));
  return rank;
}

}  // namespace

TrainCheckpoint read_checkpoint(const std::string& directory, const Graph& g) {
  const fs::path at = directory;
  TrainCheckpoint c;
  read_state_json(at, c);
  NamedValues<Tensor> weights = load_weights(g, open_model(at));
  const Checkpoint masks = Checkpoint::open(at / masks_file);
  const Checkpoint rest = Checkpoint::open(at / tensors_file);
  for (const Weight& w : g.weights()) {
    Tensor value = weights.at(w.name);
    if (masks.find(w.name))
      value = registry().pack(value.to_dense(), read_mask(masks, {w.name, DType::F32, w.shape}),
                              Spec("masked"));
    c.state.parameters.emplace_back(w.name, std::move(value));
  }
  for (const CheckpointTensor& m : masks.tensors())
    if (!g.find_weight(m.name)) fail("{}: unknown weight in {}", masks.name(), quote(m.name));
  for (const CheckpointTensor& t : rest.tensors()) {
    if (t.name.starts_with(before_prefix)) {
      restore_before(c.state.recoveries, t.name, rest.load(t));
      continue;
    }
    const StateName name = parts_of(rest.name(), t.name);
    const Weight* w = g.find_weight(name.weight);
    if (!w) fail("{}: unknown weight in {}", rest.name(), quote(t.name));
    if (name.prefix == score_prefix)
      c.state.scores.emplace(w->name, rest.load(t));
    else if (name.prefix == residual_prefix)
      c.state.residuals[rank_of(name, c.machine.ranks, rest.name())].emplace(w->name, rest.load(t));
    else
      c.state.parameters[static_cast<std::size_t>(w - g.weights().data())].state.emplace(
          std::string(name.key), rest.load(t));
  }
  if (c.manifest.best_step && fs::exists(at / best_file)) {
    std::vector<std::string> merged;
    for (const LoraWeight& w : lora_weights(g)) merged.insert(merged.end(), {w.a, w.b});
    c.manifest.best_weights = load_weights(g, Checkpoint::open(at / best_file), {}, merged);
  } else if (c.manifest.best_step) {
    if (*c.manifest.best_step != c.state.step)
      fail("{}: missing {}", printable(directory), best_file);
    for (const Parameter& p : c.state.parameters) c.manifest.best_weights.emplace(p.name, p.value);
  }
  return c;
}

}  // namespace sten
