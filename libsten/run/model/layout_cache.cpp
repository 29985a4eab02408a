#include "libsten/run/model/layout_cache.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "kernels/isa.h"
#include "libsten/base/json_reader.h"
#include "libsten/base/parallel.h"
#include "libsten/base/processor.h"
#include "libsten/base/text.h"
#include "libsten/base/version.h"
#include "libsten/data/file.h"
#include "libsten/io/atomic_file.h"
#include "libsten/io/mmap.h"
#include "libsten/linalg/dense_library.h"

namespace sten {
namespace {

using TimesByMachine = std::map<std::string, LayoutTimes>;
namespace fs = std::filesystem;

// Larger ones are none of ours; a use takes some 200 bytes.
constexpr std::size_t most_bytes = std::size_t{4} << 20, most_uses = 10'000;

// Names all dense libraries, not the one in use: where two are equally fast, chance decides which
// one a process takes, and the next process would not find its times.
std::string this_machine() {
  std::string libraries;
  for (const DenseLibrary& library : dense_libraries())
    libraries += (libraries.empty() ? "" : " and ") + library.name;
  return fmt::format("{}, {}, {} threads, {}, sten {}", cpu_name(),
                     kernels::name_of(kernels::float32_isa()), threads(), libraries, version());
}

// Whether it is there. Error where it is no file: it is neither read nor replaced.
bool is_there(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) return false;
  if (!fs::is_regular_file(status)) fail("{}: is not a regular file", printable(path));
  return true;
}

// Nothing where there is no file. Error.
TimesByMachine read_times(const std::string& path) {
  if (!is_there(path)) return {};
  const MappedFile file = MappedFile::open(path);
  if (file.bytes().size() > most_bytes) fail("{}: is too large for a cache", file.name());
  return parse_layout_times(text_of(file.bytes()), file.name());
}

std::string cache_text(const TimesByMachine& all) {
  nlohmann::ordered_json machines = nlohmann::ordered_json::object();
  for (const auto& [machine, times] : all) {
    nlohmann::ordered_json& uses = machines[machine] = nlohmann::ordered_json::object();
    for (const auto& [use, seconds] : times) uses[use] = seconds;
  }
  return dump_json({{"schema", 1}, {"seconds", std::move(machines)}}, 1) + "\n";
}

std::size_t count_uses(const TimesByMachine& all) {
  std::size_t count = 0;
  for (const auto& [machine, times] : all) count += times.size();
  return count;
}

}  // namespace

std::string cache_directory() {
  const auto of = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value ? value : "");
  };
  if (const std::string own = of("STEN_CACHE"); !own.empty()) return own;
  // Relative ones are invalid, and count for nothing: XDG Base Directory Specification.
  if (const std::string all = of("XDG_CACHE_HOME"); all.starts_with('/')) return all + "/sten";
  if (const std::string home = of("HOME"); !home.empty()) return home + "/.cache/sten";
  return "";
}

std::map<std::string, LayoutTimes> parse_layout_times(std::string_view text,
                                                      const std::string& name) {
  const nlohmann::ordered_json document = parse_json(text, name, Fault::input);
  const JsonReader all(document, name, Fault::input);
  all.check_keys({"schema", "seconds"});
  if (all["schema"].integer() != 1) fail("{}: is of another schema than 1", name);
  TimesByMachine times;
  for (const auto& [machine, uses] : all["seconds"].members())
    for (const auto& [use, layouts] : uses.members()) {
      SecondsByLayout& seconds = times[machine][use];
      for (const auto& [layout, value] : layouts.members()) {
        if (!(value.number() > 0)) value.fail("is no time");
        seconds[layout] = value.number();
      }
    }
  return times;
}

LayoutCache::LayoutCache() : machine_(this_machine()) {
  const std::string directory = cache_directory();
  if (directory.empty()) {
    notes.emplace_back("no variable says where the cache is: layouts are measured each time");
    return;
  }
  path_ = directory + "/layouts.json";
  try {
    times = read_times(path_)[machine_];
  } catch (const Error& e) {
    notes.push_back(fmt::format("the cache is not used: {}", e.what()));
  }
}

void LayoutCache::write() {
  if (path_.empty()) return;
  TimesByMachine all;
  try {
    all = read_times(path_);
  } catch (const Error&) {
    // Said when it was read first.
  }
  if (count_uses(all) > most_uses) all.clear();
  for (const auto& [use, seconds] : times) all[machine_].insert_or_assign(use, seconds);
  try {
    const fs::path directory = fs::path(path_).parent_path();
    std::error_code error;
    fs::create_directories(directory, error);
    if (error) fail("{}: {}", printable(directory.string()), error.message());
    is_there(path_);
    OutputFile out(path_, true);
    const std::string text = cache_text(all);
    out.write(std::as_bytes(std::span(text)));
    out.commit();
  } catch (const Error& e) {
    notes.push_back(fmt::format("layouts are measured each time: {}", e.what()));
  }
}

}  // namespace sten
