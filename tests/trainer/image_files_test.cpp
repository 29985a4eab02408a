// SPDX-License-Identifier: Apache-2.0
// Training on images that are decoded for each batch.
#include <doctest/doctest.h>

#include <filesystem>

#include "tests/support/bad_input.h"
#include "tests/support/image_files.h"
#include "tests/trainer/small_runs.h"

using namespace sten;
using namespace sten::testing;

namespace {

// 24 images of 14 x 12 pixels in two classes, bright at the top or at the bottom, and a wide ResNet
// that learns them from random crops of 12 x 12 pixels, 3 batches an epoch.
class ImageRun {
 public:
  ImageRun() {
    Dice dice(5);
    for (int i = 0; i < 24; ++i) {
      std::string pixels;
      for (int k = 0; k < 14 * 12 * 3; ++k)
        pixels += static_cast<char>(dice.below(60) + ((k < 14 * 6 * 3) == (i % 2 == 0) ? 180 : 20));
      std::filesystem::create_directories(dir / folder_of(i));
      dir.write(path_of(i), PngFile{14, 12, 8, 2, pixels}.bytes());
    }
    recipe.name = "image-files";
    recipe.model.kind = "wide-resnet";
    recipe.model.depth = 10;
    recipe.model.classes = 2;
    recipe.data.kind = "images";
    recipe.data.folder = dir.path();
    recipe.data.size = 12;
    recipe.data.train = 0.75;
    recipe.data.validation = 0.25;
    recipe.data.mirror = true;
    recipe.data.random_resized_crop = RandomResizedCropRecipe{{0.3, 1}, {0.75, 1.3333}};
    recipe.optimizer.rate = 0.01;
    recipe.batch = 6;
    recipe.evaluation.batch = 4;
    recipe.steps = 9;
  }
  static std::string folder_of(int i) { return i % 2 == 0 ? "top" : "bottom"; }
  static std::string path_of(int i) { return fmt::format("{}/{:02}.png", folder_of(i), i); }

  TempDir dir;
  Recipe recipe;
};

std::string input_bytes(const BatchPart& part) {
  std::string all;
  for (const auto& [name, x] : part.inputs) {
    const auto bytes = x.as<Dense>().values.bytes();
    all.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return all;
}
std::string input_bytes(const std::vector<BatchPart>& parts) {
  std::string all;
  for (const BatchPart& p : parts) all += input_bytes(p);
  return all;
}

}  // namespace

TEST_CASE("a run on random crops that is resumed within an epoch has the same losses") {
  if (!reads_png()) return;
  const ImageRun run;
  std::vector<double> losses;
  const auto whole = trainer_of(run.recipe);
  TrainState state;
  while (!whole->is_done()) {
    losses.push_back(whole->step().loss);
    if (losses.size() == 4) state = whole->state();
  }
  CHECK(losses.back() < losses.front());
  for (const int team : {1, 3}) {
    const Threads several(team);
    const auto resumed = trainer_of(run.recipe);
    resumed->restore(state);
    for (std::size_t i = 4; i < losses.size(); ++i)
      CHECK(resumed->step().loss == doctest::Approx(losses[i]).epsilon(1e-5));
  }
}

TEST_CASE("batches of image files depend only on the step, not on threads, ranks or order") {
  if (!reads_png()) return;
  ImageRun run;
  run.recipe.accumulate = 2;
  const Task task(run.recipe);
  std::vector<std::string> batches;
  for (Index step = 0; step < 6; ++step) batches.push_back(input_bytes(task.batch(step)));
  CHECK(batches[0] != batches[3]);  // the same step of another epoch
  for (const int team : {1, 2, 3}) {
    const Threads several(team);
    const Task same(run.recipe);
    for (const Index step : {5, 1, 2, 3, 0}) CHECK(input_bytes(same.batch(step)) == batches[step]);
    const Task ranks(run.recipe, {.ranks = 2});
    for (const Index step : {0, 4})
      CHECK(input_bytes(ranks.batch(step, ranks.parts_of(0))) +
                input_bytes(ranks.batch(step, ranks.parts_of(1))) ==
            batches[step]);
  }
}

TEST_CASE("cached images and images decoded per batch give bit-identical batches") {
  if (!reads_png()) return;
  ImageRun run;
  run.recipe.data.random_resized_crop.reset();
  run.recipe.data.crop_padding = 2;
  const Task held(run.recipe);
  run.recipe.data.cache = 0;
  const Task files(run.recipe);
  for (Index step = 0; step < 4; ++step)
    CHECK(input_bytes(files.batch(step)) == input_bytes(held.batch(step)));
  // Evaluation, whose parts are prefetched, too.
  REQUIRE(files.data().parts(DataSplit::validation) == 2);
  for (const Index i : {0, 1, 0})
    CHECK(input_bytes(files.data().part(DataSplit::validation, i)) ==
          input_bytes(held.data().part(DataSplit::validation, i)));
  // Only the images in memory can be used without their files.
  for (int i = 0; i < 24; ++i) std::filesystem::remove(run.dir / run.path_of(i));
  CHECK(held.batch(5).size() == 1);
  CHECK(error_of([&] { files.batch(7); }).ends_with("png: No such file or directory"));
}

TEST_CASE("an ONNX model gets decoded images with channels first") {
  if (!reads_png()) return;
  ImageRun run;
  run.recipe.model = {};
  run.recipe.model.kind = "onnx";
  run.recipe.model.file = STEN_SOURCE_DIR "/tests/trainer/resnet.onnx";
  const Task task(run.recipe);
  const BatchPart part = task.batch(0).front();
  const Tensor& x = std::ranges::find_if(part.inputs, [](const auto& e) {
                      return e.second.shape().size() == 4;
                    })->second;
  CHECK(x.shape() == Shape{6, 3, 12, 12});
}

TEST_CASE("a damaged or missing image ends the run with an error that names the path") {
  if (!reads_png()) return;
  for (const bool missing : {false, true}) {
    const ImageRun run;
    const auto trainer = trainer_of(run.recipe);
    trainer->step();
    // One batch may already be decoded, and another thread may decode now: each file changes at once.
    for (int i = 0; i < 24; ++i) {
      if (missing) {
        std::filesystem::remove(run.dir / run.path_of(i));
      } else {
        run.dir.write("damaged.png", PngFile{14, 12, 8, 2, "few"}.bytes());
        std::filesystem::rename(run.dir / "damaged.png", run.dir / run.path_of(i));
      }
    }
    const std::string error = error_of([&] {
      trainer->step();
      trainer->step();
    });
    CHECK(held(141, error.starts_with(run.dir.path()) && error.find('\n') == error.npos &&
                        error.find(missing ? "png: No such file or directory"
                                           : "png: damaged PNG image") != error.npos));
  }
}
