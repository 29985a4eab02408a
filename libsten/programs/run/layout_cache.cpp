// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/run/layout_cache.h"

#include <cstdlib>

#include "kernels/isa.h"
#include "libsten/compute/linalg/dense_library.h"
#include "libsten/core/base/json_reader.h"
#include "libsten/core/base/parallel.h"
#include "libsten/core/base/processor.h"
#include "libsten/core/base/text.h"
#include "libsten/core/base/version.h"

namespace sten {
namespace {

using TimesByMachine = std::map<std::string, LayoutTimes>;

constexpr std::size_t most_uses = 10'000;  // of about 200 bytes each

// Names all dense libraries, not only the one in use: between equally fast ones, chance decides,
// and the next process would not find its times.
std::string this_machine() {
  std::string libraries;
  for (const DenseLibrary& library : dense_libraries())
    libraries += (libraries.empty() ? "" : " and ") + library.name;
  return fmt::format("{}, {}, {} threads, {}, sten {}", cpu_name(),
                     kernels::name_of(kernels::float32_isa()), threads(), libraries, version());
}

nlohmann::ordered_json cache_document(const TimesByMachine& all) {
  nlohmann::ordered_json machines = nlohmann::ordered_json::object();
  for (const auto& [machine, times] : all) {
    nlohmann::ordered_json& uses = machines[machine] = nlohmann::ordered_json::object();
    for (const auto& [use, seconds] : times) uses[use] = seconds;
  }
  return {{"schema", 1}, {"seconds", std::move(machines)}};
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
  // Relative paths are invalid and ignored: XDG Base Directory Specification.
  if (const std::string all = of("XDG_CACHE_HOME"); all.starts_with('/')) return all + "/sten";
  if (const std::string home = of("HOME"); !home.empty()) return home + "/.cache/sten";
  return "";
}

std::map<std::string, LayoutTimes> parse_layout_times(const nlohmann::ordered_json& document,
                                                      const std::string& name) {
  const JsonReader all(document, name, Fault::input);
  all.check_keys({"sten_cache", "schema", "seconds"});
  if (all["schema"].integer() != 1) fail("{}: expected schema 1", name);
  TimesByMachine times;
  for (const auto& [machine, uses] : all["seconds"].members())
    for (const auto& [use, layouts] : uses.members()) {
      SecondsByLayout& seconds = times[machine][use];
      for (const auto& [layout, value] : layouts.members()) {
        if (!(value.number() > 0)) value.fail("expected seconds > 0");
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
  file_.emplace(directory + "/layouts.json");
  try {
    const auto document = file_->read();
    if (document) try {
        times = parse_layout_times(*document, printable(path()))[machine_];
      } catch (const Error& e) {  // a cache of another version: replaced
        notes.push_back(fmt::format("the cache is not used: {}", e.what()));
      }
  } catch (const Error& e) {
    notes.push_back(fmt::format("layouts are measured each time: {}", e.what()));
    file_.reset();
  }
}

void LayoutCache::write() {
  if (!file_) return;
  try {
    TimesByMachine all;
    try {
      if (const auto document = file_->read()) all = parse_layout_times(*document, path());
    } catch (const Error&) {
      // Reported by the constructor or by write().
    }
    if (count_uses(all) > most_uses) all.clear();
    for (const auto& [use, seconds] : times) all[machine_].insert_or_assign(use, seconds);
    file_->write(cache_document(all));
  } catch (const Error& e) {
    notes.push_back(fmt::format("layouts are measured each time: {}", e.what()));
  }
}

}  // namespace sten
