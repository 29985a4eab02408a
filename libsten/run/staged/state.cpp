#include "libsten/run/staged/state.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "libsten/base/error.h"
#include "libsten/base/hash.h"
#include "libsten/base/text.h"
#include "libsten/base/version.h"
#include "libsten/io/locked_directory.h"

namespace sten {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* run_file = "run.json";

Json read_json(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  Json json = Json::parse(text, nullptr, false);
  if (!in || !json.is_object()) fail("{}: is not the record of a run", printable(path.string()));
  return json;
}

void write_json(OutputFile& out, const Json& json) {
  const std::string text = json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  out.write(std::as_bytes(std::span(text)));
  out.commit();
}

std::string text_of(const Json& identity, const std::string& key) {
  const auto at = identity.find(key);
  return at == identity.end() ? "nothing"
                              : quote(at->is_string() ? at->get<std::string>() : at->dump());
}

}  // namespace

StateDirectory::StateDirectory(const std::string& path, const Options& identity, bool resume)
    : path_(path) {
  if (path.empty()) fail_usage("--state is empty: the directory that keeps the stages");
  lock_ = locked_directory(path);

  Json run;
  run["schema"] = 1;
  run["program"] = "sten-prune";
  run["version"] = std::string(version());
  for (const auto& [key, value] : identity) {
    Json& at = run["run"][key];
    if (at.is_null())
      at = value;
    else
      at = at.get<std::string>() + "\n" + value;  // a flag that was repeated
  }
  const fs::path file = fs::path(path) / run_file;
  if (!fs::exists(file)) {
    OutputFile out(file, false);
    write_json(out, run);
    return;
  }
  const Json old = read_json(file);
  if (!resume) fail_usage("{}: holds a run already; --resume goes on with it", printable(path));
  const auto before = old.find("run");
  const Json was = before != old.end() && before->is_object() ? *before : Json::object();
  const Json& now = run["run"];
  for (const Json* side : {&now, &was})
    for (const auto& [key, value] : side->items())
      if (text_of(was, key) != text_of(now, key))
        fail_usage("{}: holds a different run: {} was {}, and now is {}", printable(path), key,
                   text_of(was, key), text_of(now, key));
  if (text_of(old, "version") != text_of(run, "version"))
    fail_usage("{}: holds a run of version {}, and this is {}", printable(path),
               text_of(old, "version"), text_of(run, "version"));
}

std::string StateDirectory::file(std::size_t k, const std::string& name) const {
  return fs::path(path_) / fmt::format("stage-{:03}", k) / name;
}

std::optional<StageRecord> StateDirectory::record(std::size_t k) const {
  const std::string path = file(k, "stage.json");
  if (!fs::exists(path)) return std::nullopt;
  const Json json = read_json(path);
  try {
    StageRecord r;
    const auto maybe = [&](const char* key) {
      const auto at = json.find(key);
      return at == json.end() ? std::optional<double>() : at->get<double>();
    };
    r.tensor = json.value("tensor", "");
    r.sparsity = json.at("sparsity");
    r.energy = json.at("energy");
    r.loss_before = maybe("loss_before");
    r.loss = maybe("loss");
    r.rounds = json.at("rounds");
    r.violations = json.at("violations");
    r.seconds = json.at("seconds");
    r.recovered = json.at("recovered");
    return r;
  } catch (const Json::exception&) {
    fail("{}: is not the record of a stage", printable(path));
  }
}

void StateDirectory::write(const std::string& name, const std::string& text) const {
  OutputFile out(fs::path(path_) / name, true);
  out.write(std::as_bytes(std::span(text)));
  out.commit();
}

std::unique_ptr<OutputDirectory> StateDirectory::new_stage(std::size_t k) const {
  return std::make_unique<OutputDirectory>(fs::path(path_) / fmt::format("stage-{:03}", k), false);
}

void write_record(const OutputDirectory& stage, const StageRecord& r) {
  Json json;
  if (!r.tensor.empty()) json["tensor"] = r.tensor;
  json["sparsity"] = r.sparsity;
  json["energy"] = r.energy;
  if (r.loss_before) json["loss_before"] = *r.loss_before;
  if (r.loss) json["loss"] = *r.loss;
  json["rounds"] = r.rounds;
  json["violations"] = r.violations;
  json["seconds"] = r.seconds;
  json["recovered"] = r.recovered;
  const auto out = stage.new_file("stage.json");
  write_json(*out, json);
}

std::string content_hash(const Checkpoint& c) {
  std::uint64_t hash = 0;
  for (const CheckpointTensor& t : c.tensors()) {
    const std::string head =
        fmt::format("{}\n{}\n{}\n{}", t.name, name_of(t.dtype), to_string(t.shape), t.layout.str());
    hash = hash_bytes(hash, std::as_bytes(std::span(head)));
    for (const SafetensorsEntry& e : t.entries) hash = hash_bytes(hash, c.bytes(t, e));
    c.drop(t);
  }
  return fmt::format("{:016x}", hash);
}

}  // namespace sten
