#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cantilever/base/file.h"

namespace arrow {
class Array;
class Buffer;
class Schema;
namespace ipc {
class Message;
}
}  // namespace arrow

namespace cantilever {

// The messages of an Arrow IPC file in the stream format (what `datasets` writes) or the file
// format (magic ARROW1), found once when it is opened; record batches can then be read in any
// order, by several threads. Buffers without compression are views of the mapped file.
class IpcIndex {
 public:
  // Throws Error that names the file: no Arrow IPC, cut off, damaged, row counts that cannot be
  // true. A stream that ends without its end mark is taken as it is, as Arrow does.
  IpcIndex(std::shared_ptr<const MappedFile> mapped, std::string file);

  const std::shared_ptr<arrow::Schema>& schema() const { return schema_; }
  // Rows up to the end of each record batch.
  const std::vector<int64_t>& batch_ends() const { return batch_ends_; }

  // One column of a record batch. The sizes of its buffers have been checked (Array::Validate), the
  // offsets in them have not. Throws Error that names file and batch.
  std::shared_ptr<arrow::Array> read(int64_t batch, int column) const;

  // What the buffers of a batch claim to become when they are decompressed, of all columns
  // together; 0 without compression.
  int64_t decompressed_bytes(int64_t batch) const;

 private:
  struct Message {
    int64_t offset = 0;  // of the metadata (behind the length before it)
    int32_t metadata_bytes = 0;
    int64_t body_bytes = 0;
  };
  struct Batch {
    Message message;
    int32_t dictionaries = 0;  // dictionary messages before it
  };
  struct Dictionary {
    Message message;
    int64_t id = 0;
    bool delta = false;
  };
  class Messages;

  void index_stream();
  void index_file();
  void add(const Message& message, uint8_t expected);
  bool next_message(int64_t& at, Message& message) const;
  std::span<const std::byte> metadata(const Message& message) const;
  std::unique_ptr<arrow::ipc::Message> open(const Message& message) const;
  std::vector<Message> messages_for(const Batch& batch) const;

  std::shared_ptr<const MappedFile> mapped_;
  std::shared_ptr<arrow::Buffer> buffer_;  // the mapped file
  std::string file_;
  bool has_schema_ = false;
  Message schema_message_;
  std::shared_ptr<arrow::Schema> schema_;
  std::vector<Batch> batches_;
  std::vector<Dictionary> dictionaries_;
  std::vector<int64_t> batch_ends_;
};

}  // namespace cantilever
