// Where a changed checkpoint goes: one file, or a directory with the sharding of the input.
//
// Of an ONNX model it may be an ONNX model again: a path that ends in .onnx. That is the input byte
// for byte but for the elements of changed tensors; its external data are files of the same names
// beside the output.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "libsten/io/atomic_file.h"
#include "libsten/io/checkpoint_writer.h"
#include "libsten/io/output_directory.h"
#include "libsten/io/write_queue.h"

namespace sten {

using Metadata = std::vector<std::pair<std::string, std::string>>;

class CheckpointOutput {
 public:
  // Checks that it can be written; `directory` if the input is one. A path that ends in .npy takes
  // one dense tensor. Of a directory's ONNX model comes another one if all tensors stay dense and
  // `writes_graph` is set.
  CheckpointOutput(const std::string& path, bool force, bool directory, bool writes_graph = true);
  ~CheckpointOutput();
  // The same checks, for a dry run.
  static void check(const std::string& path, bool force, bool directory);
  // Error where the path cannot take what tensors of `input` will be: more than one in a .npy file,
  // parts whose names clash; in a .onnx file a layout, or anything of another kind of file.
  static void check_contents(const std::string& path, const Checkpoint& input,
                             const std::vector<TensorInfo>& contents);

  // Why an ONNX model cannot have other elements in those tensors, by number; "" where it can.
  static std::string why_fixed(const Checkpoint& in, const std::vector<std::size_t>& changed);

  // `contents`, checked, has what each tensor of `in` will be; `annotate` makes a shard's new
  // metadata of its old. Both stay valid until finish(). `left` names what stays behind of the
  // input's directory, as other_weights() does.
  void begin(const Checkpoint& in, std::vector<TensorInfo> contents,
             const std::function<Metadata(const Metadata&)>& annotate,
             std::vector<std::string> left = {});
  // The tensors in in.data_order(), by number, changed or as they are. Written by a thread of its
  // own while the caller goes on; memory that waits to be written is bounded.
  void add(std::size_t i, const Tensor& t);
  void copy(std::size_t i);
  // Waits for all of it, then a directory's other files and index are added.
  void finish();
  // On the disk and in place, together with another output. Bytes of the checkpoint's files.
  std::uint64_t commit(Output* beside = nullptr);

 private:
  void write(std::size_t i, const Tensor* t);
  void write_array(std::size_t i, const Tensor& t);
  // One output file for each of the input's; else one has them all.
  bool has_shards() const { return directory_ && !in_->is_onnx(); }
  void make_folder(const std::string& name);
  void begin_model();
  void overwrite(std::size_t i, const Tensor& t);
  void copy_to(std::size_t shard, std::uint64_t end);
  void open_shard(std::size_t shard);
  void close_shard();
  void copy_others();
  void write_index();

  std::unique_ptr<OutputFile> file_;  // the one file, or the shard that is being written
  std::unique_ptr<OutputDirectory> directory_;
  const Checkpoint* in_ = nullptr;
  std::vector<TensorInfo> contents_;
  std::vector<std::string> left_;
  std::function<Metadata(const Metadata&)> annotate_;
  bool npy_ = false, onnx_ = false, writes_graph_ = true, sten_names_ = false;
  std::string path_;
  bool force_;
  // Of an ONNX model: its files of external data; up to where each shard is written; and which
  // tensors have bytes that others have, too.
  std::vector<std::unique_ptr<OutputFile>> external_;
  std::vector<std::uint64_t> written_;
  std::vector<bool> shares_bytes_;
  std::optional<CheckpointWriter> writer_;
  std::size_t shard_ = 0;
  std::uint64_t file_bytes_ = 0, data_bytes_ = 0;
  std::map<std::string, std::string> weight_map_;  // of the entries written: their file
  std::optional<WriteQueue> queue_;                // last: it stops before what it writes to goes
};

}  // namespace sten
