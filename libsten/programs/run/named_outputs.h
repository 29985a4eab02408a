// SPDX-License-Identifier: Apache-2.0
// Outputs of a model, and their files.
#pragma once
#include <memory>
#include <span>

#include "libsten/core/tensor/dense.h"
#include "libsten/files/system/atomic_file.h"

namespace sten {

// The rows of one output, collected from batches.
class CollectedOutput {
 public:
  // `collects`: keep the values, for values().
  CollectedOutput(std::string name, bool collects) : name_(std::move(name)), collects_(collects) {}

  // Adds the rows of a batch. Error if dtype or extents differ from the previous ones.
  void add(const Dense& x);
  // All rows, if values are kept.
  Dense values() const;

  const std::string& name() const { return name_; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  // Statistics over the elements that are neither NaN nor infinite; 0 without such elements.
  Index finite() const { return finite_; }
  double least() const { return least_; }
  double most() const { return most_; }
  double mean() const { return finite_ ? sum_ / static_cast<double>(finite_) : 0; }
  Index not_finite() const { return not_finite_; }

 private:
  void measure(const Dense& x);

  std::string name_;
  bool collects_;
  DType dtype_ = DType::F32;
  Shape shape_;
  std::vector<Dense> parts_;
  double least_ = 0, most_ = 0, sum_ = 0;
  Index finite_ = 0, not_finite_ = 0;
};

// The files of -o: NAME=FILE.npy; FILE.npy or "-" for a model of one output; FILE.safetensors for
// all outputs.
class OutputFiles {
 public:
  // `outputs`: the names of the model's outputs. Error (usage) for unknown names and for files that
  // cannot be written.
  OutputFiles(const std::vector<std::string>& given, const std::vector<std::string>& outputs,
              const std::string& model, bool force);

  bool wants(std::string_view output) const;
  // Writes all files or none. Returns a line per file for the report.
  std::vector<std::string> write(std::span<const CollectedOutput> outputs);

 private:
  struct File {
    std::string output;  // empty: all
    std::unique_ptr<OutputFile> out;
  };
  std::vector<File> files_;
};

}  // namespace sten
