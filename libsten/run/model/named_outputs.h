// What outputs of a model are like, and the files that they go to.
#pragma once
#include <memory>
#include <span>

#include "libsten/io/atomic_file.h"
#include "libsten/tensor/dense.h"

namespace sten {

// Rows of one output, as batches give them.
class CollectedOutput {
 public:
  // `collects` the values, too.
  CollectedOutput(std::string name, bool collects) : name_(std::move(name)), collects_(collects) {}

  // The next rows. Error where they are not like those before them.
  void add(const Dense& x);
  // All rows; of an output that keeps them.
  Dense values() const;

  const std::string& name() const { return name_; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  // Of the elements that are neither NaN nor infinite; 0 where there are none.
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
  // `outputs` are the model's. Error (usage) for names that are none of them, and where a file
  // cannot be written there.
  OutputFiles(const std::vector<std::string>& given, const std::vector<std::string>& outputs,
              const std::string& model, bool force);

  bool wants(std::string_view output) const;
  // All of them, or none; lines that say what went where.
  std::vector<std::string> write(std::span<const CollectedOutput> outputs);

 private:
  struct File {
    std::string output;  // empty: all
    std::unique_ptr<OutputFile> out;
  };
  std::vector<File> files_;
};

}  // namespace sten
