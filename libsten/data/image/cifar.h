// SPDX-License-Identifier: Apache-2.0
// CIFAR-10 and CIFAR-100 in their binary format (https://www.cs.toronto.edu/~kriz/cifar.html), and
// data sets in the same format. A record is a byte for the class (in CIFAR-100 a coarse and a fine
// one), then 32 x 32 bytes each of red, green and blue.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "libsten/data/examples.h"

namespace sten {

// Checks the number of classes: 10 for CIFAR-10, 100 for the fine and 20 for the coarse classes of
// CIFAR-100. Error (usage) for others.
void check_cifar_classes(Index classes);

// Images U8 [N, 32, 32, 3] and labels. Error with the file, and the record from 0, if the file's
// size is not a multiple of a record's, or a label is not a class.
Examples parse_cifar(std::span<const std::byte> file, const std::string& file_name, Index classes);
// Reads several files in order.
Examples read_cifar(const std::vector<std::string>& files, Index classes);

// The files of a folder as published: data_batch_1.bin etc. and test_batch.bin; or train.bin and
// test.bin. Error with the folder if training or test files are missing.
struct CifarFiles {
  std::vector<std::string> train, test;
};
CifarFiles cifar_files(const std::string& folder, Index classes);

}  // namespace sten
