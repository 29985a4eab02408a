// CIFAR-10 and CIFAR-100 in their binary form (https://www.cs.toronto.edu/~kriz/cifar.html), or what
// is written like them: a record is a byte for the class, in CIFAR-100 a coarse one and a fine one,
// and 32 x 32 bytes each of red, green and blue.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "libsten/data/examples.h"

namespace sten {

// By the number of classes: 10 are CIFAR-10, 100 the fine and 20 the coarse ones of CIFAR-100.
// Error (usage) for any other.
void check_cifar_classes(Index classes);

// Images U8 [N, 32, 32, 3] and their labels. Error with the file, and the record from 0, where the
// size of a file is not a multiple of a record's, or a label is not a class.
Examples parse_cifar(std::span<const std::byte> file, const std::string& file_name, Index classes);
// Of several files, one after the other.
Examples read_cifar(const std::vector<std::string>& files, Index classes);

// The files of a folder in its published form: data_batch_1.bin and so on, and test_batch.bin; or
// train.bin and test.bin. Error with the folder if it has none to train on, or none to test.
struct CifarFiles {
  std::vector<std::string> train, test;
};
CifarFiles cifar_files(const std::string& folder, Index classes);

}  // namespace sten
