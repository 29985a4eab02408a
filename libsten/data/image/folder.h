// Images in folders: a folder for each class.
#pragma once
#include <string>
#include <vector>

#include "libsten/data/examples.h"

namespace sten {

inline constexpr Index most_image_side = 8192;

struct ImageFolderOptions {
  Index size = 0;    // images become size x size: see centre_of()
  Index resize = 0;  // the shorter side before the middle is cut out; 0: size
  Index channels = 3;
  bool has_classes = true;  // false: images may also lie in the folder itself
};

struct FolderImages {
  Examples examples;                 // features U8 [N, size, size, channels]
  std::vector<std::string> classes;  // by label
};

// The folders in `folder` are the classes, in the order of their names' bytes, and the .png, .jpg
// and .jpeg files in each, and in folders in it, its images, in the order of their paths. Other
// files are skipped, and names that start with a dot. With `classes` labels are places in that list.
//
// Error with the path where a class has no image, where a folder is not in `classes`,
// for an image of a format that is not read, and as from read_image(): for the first one, whatever
// the number of threads.
FolderImages read_image_folder(const std::string& folder, const ImageFolderOptions& options,
                               const std::vector<std::string>* classes = nullptr);

}  // namespace sten
