// Images in folders, one folder per class.
#pragma once
#include <string>
#include <vector>

#include "libsten/data/examples.h"

namespace sten {

inline constexpr Index most_image_side = 8192;

struct ImageFolderOptions {
  Index size = 0;    // images become size x size: see centre_of()
  Index resize = 0;  // shorter side before the crop; 0: size
  Index channels = 3;
  bool has_classes = true;  // false: images may also be in the folder itself
};

struct FolderImages {
  Examples examples;                 // features U8 [N, size, size, channels]
  std::vector<std::string> classes;  // by label
};

// Reads the folders in `folder` as classes, in byte order of their names, and the .png, .jpg and
// .jpeg files in each class and its subfolders as images, in order of their paths. Skips other
// files and names that start with a dot. With `classes`, labels are indices of that list.
//
// Error with the path for a class without images, a folder that is not in `classes`, an unsupported
// image format, and as read_image(). The first error in order is reported.
FolderImages read_image_folder(const std::string& folder, const ImageFolderOptions& options,
                               const std::vector<std::string>* classes = nullptr);

}  // namespace sten
