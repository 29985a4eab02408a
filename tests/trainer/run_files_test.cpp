// SPDX-License-Identifier: Apache-2.0
// Forged manifests of a run.
#include "libsten/training/trainer/run_files.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "libsten/files/system/checksum_manifest.h"
#include "tests/support/temp_dir.h"

using namespace sten;

namespace {

std::string error(const TempDir& dir, const nlohmann::ordered_json& files,
                  const nlohmann::ordered_json& steps) {
  nlohmann::ordered_json j;
  j["program"] = "sten-train";
  j["files"] = files;
  j["checkpoints"] = steps;
  dir.write("run/run.json", manifest_text(j));
  try {
    RunFiles(dir / "run").remove_all();
    return "";
  } catch (const Error& e) {
    return e.what();
  }
}

}  // namespace

TEST_CASE("a forged run manifest cannot remove files that are not part of the run") {
  const TempDir dir;
  std::filesystem::create_directories(dir / "run/checkpoints/step-000007/more");
  const std::string mine = dir.write("mine", "mine"), notes = dir.write("run/notes", "notes"),
                    below = dir.write("run/checkpoints/step-000007/notes", "notes");
  const auto list = nlohmann::ordered_json::array();
  for (const char* name : {"../mine", "notes", "checkpoints", "run.json", "", "/etc/passwd",
                           "checkpoints/step-000007/notes"}) {
    CAPTURE(name);
    CHECK(error(dir, {{name, nullptr}}, list).ends_with(": unknown file of a run"));
  }
  CHECK_FALSE(error(dir, list, list).empty());
  CHECK_FALSE(error(dir, {{"curve.svg", nullptr}}, {"../.."}).empty());
  CHECK_FALSE(error(dir, {{"curve.svg", nullptr}}, {-1}).empty());
  CHECK(error(dir, {{"curve.svg", nullptr}}, {7}).empty());
  for (const std::string& file : {mine, notes, below}) CHECK(std::filesystem::exists(file));
}
