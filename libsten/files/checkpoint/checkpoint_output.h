// SPDX-License-Identifier: Apache-2.0
// Output of a changed checkpoint: one file, or a directory with the shards of the input.
//
// The output of an ONNX model can be an ONNX model if the path ends in .onnx: a copy of the input
// with new elements of the changed tensors. External data files have the names of the input's
// files. The output of any model can be a GGUF file if the path ends in .gguf (gguf_output.h).
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "libsten/files/checkpoint/checkpoint_writer.h"
#include "libsten/files/checkpoint/gguf_output.h"
#include "libsten/files/system/atomic_file.h"
#include "libsten/files/system/output_directory.h"
#include "libsten/files/system/write_queue.h"

namespace sten {

using Metadata = std::vector<std::pair<std::string, std::string>>;

class CheckpointOutput {
 public:
  // Checks that the output can be written. `directory`: the input is a directory. A path that ends
  // in .npy takes one dense tensor. A directory's ONNX model is written as ONNX if all tensors stay
  // dense and `writes_graph` is true. `gguf_type`: of the weights in a .gguf file, as GgufOutput.
  CheckpointOutput(const std::string& path, bool force, bool directory, bool writes_graph = true,
                   const GgufType* gguf_type = nullptr);
  ~CheckpointOutput();
  // The same checks for a dry run.
  static void check(const std::string& path, bool force, bool directory);
  // Error if the path cannot store the tensors of `input` with their new layouts: several tensors
  // in a .npy file; parts with clashing names; sparse tensors in a .gguf file; sparse tensors, or an
  // input of another format, in a .onnx file.
  static void check_contents(const std::string& path, const Checkpoint& input,
                             const std::vector<TensorInfo>& contents);

  // The reason why an ONNX model cannot change these tensors; "" if it can.
  static std::string why_fixed(const Checkpoint& in, const std::vector<std::size_t>& changed);

  // `contents`: the checked new descriptions of the tensors of `in`. `annotate`: maps a shard's
  // metadata to new metadata. Both must stay valid until finish(). `left`: other_weights() that are
  // not copied from the input's directory. `changed`: the tensors that add() will get, for .gguf.
  void begin(const Checkpoint& in, std::vector<TensorInfo> contents,
             const std::function<Metadata(const Metadata&)>& annotate,
             std::vector<std::string> left = {}, const std::vector<bool>& changed = {});
  // Adds tensor i, changed or not; tensors come in the order of in.data_order(). Another thread
  // writes tensors; the memory of waiting tensors is bounded.
  void add(std::size_t i, const Tensor& t);
  void copy(std::size_t i);
  // A companion file of a directory gets this text instead of that of the input. Before finish().
  void replace_companion(const std::string& name, std::string text) {
    companions_.insert_or_assign(name, std::move(text));
  }
  // Waits for all writes, then adds a directory's other files and the index.
  void finish();
  // Commits the output, together with `beside`. Returns the bytes of the checkpoint's files.
  std::uint64_t commit(Output* beside = nullptr);

 private:
  void write(std::size_t i, const Tensor* t);
  void write_array(std::size_t i, const Tensor& t);
  // Whether the output has a file per input file, instead of one file.
  bool has_shards() const { return directory_ && !in_->is_onnx(); }
  void make_folder(const std::string& name);
  void begin_gguf(const std::vector<bool>& changed);
  void add_gguf_companions();
  void begin_model();
  void overwrite(std::size_t i, const Tensor& t);
  void copy_to(std::size_t shard, std::uint64_t end);
  void open_shard(std::size_t shard);
  void close_shard();
  void copy_others();
  void write_index();

  std::unique_ptr<OutputFile> file_;  // the only file, or the current shard
  std::unique_ptr<OutputDirectory> directory_;
  const Checkpoint* in_ = nullptr;
  std::vector<TensorInfo> contents_;
  std::vector<std::string> left_;
  std::map<std::string, std::string> companions_;  // new texts, by name
  std::function<Metadata(const Metadata&)> annotate_;
  const GgufType* gguf_type_;
  std::optional<GgufOutput> gguf_;
  bool npy_ = false, onnx_ = false, writes_graph_ = true, sten_names_ = false;
  std::string path_;
  bool force_;
  // For an ONNX model: external data files, the end of the written data per shard, and tensors that
  // share bytes. For the weights of a GGUF model: its companions.
  std::vector<std::unique_ptr<OutputFile>> external_;
  std::vector<std::uint64_t> written_;
  std::vector<bool> shares_bytes_;
  std::optional<CheckpointWriter> writer_;
  std::size_t shard_ = 0;
  std::uint64_t file_bytes_ = 0, data_bytes_ = 0;
  std::map<std::string, std::string> weight_map_;  // file of each entry
  std::optional<WriteQueue> queue_;  // last member: stops before the files are destroyed
};

}  // namespace sten
