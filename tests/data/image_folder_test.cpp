// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/image/folder.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "tests/support/bad_input.h"
#include "tests/support/image_files.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

// A uniform gray image, 4 x 4.
std::string grey_png(char value) { return PngFile{4, 4, 8, 0, std::string(16, value)}.bytes(); }

class PictureFolder {
 public:
  void add(const std::string& path, const std::string& bytes) const {
    std::filesystem::create_directories(std::filesystem::path(dir / path).parent_path());
    dir.write(path, bytes);
  }
  TempDir dir;
};

std::vector<int> labels_in(const Examples& e) {
  const auto y = e.labels.values.as<std::int64_t>();
  return {y.begin(), y.end()};
}
// The first byte of each image.
std::vector<int> firsts_in(const Examples& e) {
  std::vector<int> all;
  const Index n = e.features.size() / e.count();
  for (Index i = 0; i < e.count(); ++i) all.push_back(e.features.values.as<std::uint8_t>()[i * n]);
  return all;
}

struct FolderImages {
  Examples examples;
  std::vector<std::string> classes;
};
FolderImages read_folder(const std::string& folder, const ImageOptions& options,
                         const std::vector<std::string>* classes = nullptr) {
  const ImageFolder f = list_images(folder, {options}, classes);
  return {read_images(f.files), f.classes};
}

}  // namespace

TEST_CASE("subfolders become classes, and classes and images are sorted by name") {
  if (!reads_png()) return;
  const PictureFolder f;
  f.add("dog/2.png", grey_png(5));
  f.add("dog/10.PNG", grey_png(4));
  f.add("Cat/a.jpg", grey_png(1));  // not the format of its suffix
  f.add("ant/more/z.png", grey_png(3));
  f.add("ant/b.png", grey_png(2));
  f.add("ant/notes.txt", "not an image");
  f.add("ant/.hidden.png", "not an image");
  f.add(".git/x.png", "not an image");
  f.add("readme.md", "not an image");
  for (const int team : {1, 3}) {
    const Threads several(team);
    const FolderImages all = read_folder(f.dir.path(), {.size = 2});
    CHECK(all.classes == std::vector<std::string>{"Cat", "ant", "dog"});
    CHECK(all.examples.features.extents == Shape{5, 2, 2, 3});
    CHECK(labels_in(all.examples) == std::vector<int>{0, 1, 1, 2, 2});
    CHECK(firsts_in(all.examples) == std::vector<int>{1, 2, 3, 4, 5});
  }
  CHECK(read_folder(f.dir.path(), {.size = 4, .channels = 1}).examples.features.extents ==
        Shape{5, 4, 4, 1});
  const std::vector<std::string> classes{"dog", "ant", "Cat", "owl"};
  CHECK(labels_in(read_folder(f.dir.path(), {.size = 2}, &classes).examples) ==
        std::vector<int>{2, 1, 1, 0, 0});
}

TEST_CASE("folders without classes or images, and damaged files, are rejected by name") {
  if (!reads_png()) return;
  const PictureFolder f;
  const auto error = [&](const std::vector<std::string>* classes = nullptr) {
    return error_of([&] { read_folder(f.dir.path(), {.size = 2}, classes); });
  };
  CHECK(error() == f.dir.path() + ": no folders of images found (each folder is a class)");
  f.add("a/1.png", grey_png(1));
  f.add("b/notes.txt", "");
  CHECK(held(114, error() == f.dir / "b" + ": no PNG or JPEG image found"));
  f.add("b/x.gif", "GIF89a");
  CHECK(error() == f.dir / "b/x.gif" + ": unsupported image format (expected PNG or JPEG)");
  std::filesystem::remove(f.dir / "b/x.gif");
  f.add("b/3.png", "x");
  f.add("b/2.png", grey_png(1).substr(0, 60));
  const std::vector<std::string> classes{"a"};
  CHECK(error(&classes) == f.dir / "b" + ": unknown class 'b' (expected one of a)");
  // The first damaged file is reported at any number of threads.
  for (const int team : {1, 3}) {
    const Threads several(team);
    CHECK(held(114, error() == f.dir / "b/2.png" + ": damaged PNG image: truncated"));
  }
  CHECK(has(error_of([&] { read_folder(f.dir / "none", {.size = 2}); }),
            "none: No such file or directory"));
  CHECK(error_of([&] { read_folder(f.dir.path(), {.size = 9, .resize = 8}); }) ==
        "images: a crop of 9 x 9 pixels does not fit a shorter side of 8");
}

TEST_CASE("a symbolic link to a parent folder does not cause endless recursion") {
  if (!reads_png()) return;
  const PictureFolder f;
  f.add("a/1.png", grey_png(1));
  std::filesystem::create_directory_symlink(f.dir.path(), f.dir / "a/loop");
  CHECK(read_folder(f.dir.path(), {.size = 2}).examples.count() == 1);
}
