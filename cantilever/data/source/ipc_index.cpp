#include "cantilever/data/source/ipc_index.h"

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/ipc/dictionary.h>
#include <arrow/ipc/message.h>
#include <arrow/ipc/reader.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <map>

#include "cantilever/base/error.h"
#include "cantilever/data/source/ipc_flat_table.h"

namespace cantilever {
namespace {

// Field numbers of Message.fbs and File.fbs in apache/arrow's format folder.
namespace message_field {
constexpr int kHeaderType = 1;
constexpr int kHeader = 2;
constexpr int kBodyLength = 3;
}  // namespace message_field
namespace batch_field {
constexpr int kLength = 0;
constexpr int kBuffers = 2;
constexpr int kCompression = 3;
}  // namespace batch_field
namespace dictionary_field {
constexpr int kId = 0;
constexpr int kIsDelta = 2;
}  // namespace dictionary_field
namespace footer_field {
constexpr int kDictionaries = 2;
constexpr int kRecordBatches = 3;
}  // namespace footer_field

enum HeaderType : uint8_t { kSchema = 1, kDictionaryBatch = 2, kRecordBatch = 3 };

constexpr size_t kBlockBytes = 24;   // offset int64, metadata int32, padding, body int64
constexpr size_t kBufferBytes = 16;  // offset int64, length int64
constexpr std::string_view kMagic = "ARROW1";

// The mapped file as Arrow wants it; arrays that view it keep it mapped.
class MappedBuffer final : public arrow::Buffer {
 public:
  explicit MappedBuffer(std::shared_ptr<const MappedFile> mapped)
      : arrow::Buffer(reinterpret_cast<const uint8_t*>(mapped->bytes().data()),
                      static_cast<int64_t>(mapped->bytes().size())),
        mapped_(std::move(mapped)) {}

 private:
  std::shared_ptr<const MappedFile> mapped_;
};

void check_start(const MappedFile& mapped, const std::string& file) {
  const std::string_view text = mapped.text();
  CANTILEVER_CHECK(!text.empty(), file, ": the file is empty (0 bytes), not an Arrow file");
  const std::string pointer = describe_lfs_pointer(mapped.bytes());
  CANTILEVER_CHECK(pointer.empty(), file, ": ", pointer);
  CANTILEVER_CHECK(!text.starts_with("FEA1"), file,
                   ": this is Feather version 1, which is not read; write it again as Arrow IPC");
  CANTILEVER_CHECK(!text.starts_with("PAR1"), file, ": this is a Parquet file; call it .parquet");
}

template <class T>
T take(const std::string& where, arrow::Result<T> result) {
  CANTILEVER_CHECK(result.ok(), where, ": not readable as Arrow IPC: ", result.status().message());
  return std::move(result).ValueUnsafe();
}

}  // namespace

// Schema, dictionaries and one record batch, as if they were a stream.
class IpcIndex::Messages final : public arrow::ipc::MessageReader {
 public:
  Messages(const IpcIndex& index, std::vector<Message> messages)
      : index_(index), messages_(std::move(messages)) {}

  arrow::Result<std::unique_ptr<arrow::ipc::Message>> ReadNextMessage() override {
    if (next_ == messages_.size()) return nullptr;
    return index_.open(messages_[next_++]);
  }

 private:
  const IpcIndex& index_;
  std::vector<Message> messages_;
  size_t next_ = 0;
};

IpcIndex::IpcIndex(std::shared_ptr<const MappedFile> mapped, std::string file)
    : mapped_(std::move(mapped)),
      buffer_(std::make_shared<MappedBuffer>(mapped_)),
      file_(std::move(file)) {
  check_start(*mapped_, file_);
  if (mapped_->text().starts_with(kMagic)) {
    index_file();
  } else {
    index_stream();
  }
  arrow::ipc::DictionaryMemo memo;
  const auto message = open(schema_message_);
  schema_ = take(file_, arrow::ipc::ReadSchema(*message, &memo));
}

// The message that starts at `at`, which moves behind it; false at the end mark or the end of the
// file.
bool IpcIndex::next_message(int64_t& at, Message& message) const {
  const std::span<const std::byte> bytes = mapped_->bytes();
  const int64_t size = static_cast<int64_t>(bytes.size());
  if (at == size) return false;
  auto length = FlatTable::load<int32_t>(bytes, static_cast<size_t>(at));
  int64_t start = at + 4;
  if (length && *length == -1) {  // the marker that versions since 0.15 write before the length
    length = FlatTable::load<int32_t>(bytes, static_cast<size_t>(start));
    start += 4;
  }
  if (length && *length == 0) return false;
  const auto cut = [&](int64_t wanted) {
    return concat(file_, ": the Arrow file is incomplete: the message at byte ", at,
                  " goes to byte ", wanted, " of ", size, "; it was cut off or is damaged (",
                  batches_.size(), " record batches are whole)");
  };
  CANTILEVER_CHECK(length.has_value(), cut(start));
  CANTILEVER_CHECK(*length > 0 && (batches_.size() > 0 || has_schema_ || *length < size), file_,
                   ": not an Arrow file: there is no message at byte ", at);
  CANTILEVER_CHECK(*length <= size - start, cut(start + *length));
  message.offset = start;
  message.metadata_bytes = *length;
  const auto table = FlatTable::root(metadata(message));
  message.body_bytes = table ? table->number<int64_t>(message_field::kBodyLength, 0) : -1;
  CANTILEVER_CHECK(message.body_bytes >= 0, file_,
                   has_schema_ ? ": the message at byte " : ": not an Arrow file: at byte ", at,
                   has_schema_ ? " is damaged" : " there is no message");
  CANTILEVER_CHECK(message.body_bytes <= size - start - *length,
                   cut(start + *length + message.body_bytes));
  at = start + *length + message.body_bytes;
  return true;
}

std::span<const std::byte> IpcIndex::metadata(const Message& message) const {
  return mapped_->bytes().subspan(static_cast<size_t>(message.offset),
                                  static_cast<size_t>(message.metadata_bytes));
}

// Notes a message of type `expected`; 0: of any.
void IpcIndex::add(const Message& message, uint8_t expected) {
  const auto table = FlatTable::root(metadata(message));
  const uint8_t type = table ? table->number<uint8_t>(message_field::kHeaderType, 0) : 0;
  const auto header = table ? table->table(message_field::kHeader) : std::nullopt;
  CANTILEVER_CHECK(header && (expected == 0 || type == expected), file_,
                   ": the message before byte ", message.offset, " is of type ", int{type},
                   expected == 0 ? "" : concat(", not ", int{expected}), "; the file is damaged");
  CANTILEVER_CHECK(has_schema_ == (type != kSchema), file_, ": the message before byte ",
                   message.offset, " is ", has_schema_ ? "a second schema" : "not the schema",
                   "; this is no table of Arrow");
  if (type == kSchema) {
    has_schema_ = true;
    schema_message_ = message;
  } else if (type == kDictionaryBatch) {
    dictionaries_.push_back({message, header->number<int64_t>(dictionary_field::kId, 0),
                             header->number<uint8_t>(dictionary_field::kIsDelta, 0) != 0});
  } else if (type == kRecordBatch) {
    const int64_t rows = header->number<int64_t>(batch_field::kLength, 0);
    const int64_t before = batch_ends_.empty() ? 0 : batch_ends_.back();
    // As for Parquet: rows cost the caller memory and may not be claimed for free.
    const int64_t most = 100000 + 64 * static_cast<int64_t>(mapped_->bytes().size());
    CANTILEVER_CHECK(rows >= 0 && rows <= most - before, file_, ": record batch ", batches_.size(),
                     " claims ", rows, " rows, which ", mapped_->bytes().size(),
                     " bytes cannot hold");
    batches_.push_back({message, static_cast<int32_t>(dictionaries_.size())});
    batch_ends_.push_back(before + rows);
  } else {
    throw_error(concat(file_, ": the message before byte ", message.offset, " is of type ",
                       int{type}, ", no part of a table"));
  }
}

void IpcIndex::index_stream() {
  int64_t at = 0;
  Message message;
  while (next_message(at, message)) add(message, 0);
  CANTILEVER_CHECK(has_schema_, file_, ": not an Arrow file: it has no schema");
}

// The footer says where dictionaries and record batches lie.
void IpcIndex::index_file() {
  const std::span<const std::byte> bytes = mapped_->bytes();
  const std::string incomplete =
      concat(file_, ": the Arrow file is incomplete (", bytes.size(),
             " bytes, and the footer at the end is missing); it was cut off, fetch it again");
  constexpr size_t kTail = kMagic.size() + 4;
  CANTILEVER_CHECK(bytes.size() > 8 + kTail && mapped_->text().ends_with(kMagic), incomplete);
  const auto length = FlatTable::load<int32_t>(bytes, bytes.size() - kTail);
  CANTILEVER_CHECK(*length > 0 && static_cast<size_t>(*length) <= bytes.size() - kTail - 8, file_,
                   ": the footer claims ", *length, " bytes of ", bytes.size(),
                   "; the file is damaged");
  const auto footer = FlatTable::root(bytes.subspan(
      bytes.size() - kTail - static_cast<size_t>(*length), static_cast<size_t>(*length)));
  CANTILEVER_CHECK(footer.has_value(), file_, ": the footer is damaged");
  const auto add_at = [&](int64_t at, uint8_t expected) {
    Message message;
    CANTILEVER_CHECK(
        at >= 8 && at < static_cast<int64_t>(bytes.size()) && next_message(at, message), file_,
        ": there is no message at byte ", at, "; the file is damaged");
    add(message, expected);
  };
  const auto add_all = [&](int field, uint8_t expected) {
    const auto blocks = footer->structs(field, kBlockBytes);
    for (size_t at = 0; at < blocks.size(); at += kBlockBytes) {
      add_at(*FlatTable::load<int64_t>(blocks, at), expected);
    }
  };
  add_at(8, kSchema);
  add_all(footer_field::kDictionaries, kDictionaryBatch);
  add_all(footer_field::kRecordBatches, kRecordBatch);
}

std::unique_ptr<arrow::ipc::Message> IpcIndex::open(const Message& message) const {
  const auto head = arrow::SliceBuffer(buffer_, message.offset, message.metadata_bytes);
  const auto body =
      arrow::SliceBuffer(buffer_, message.offset + message.metadata_bytes, message.body_bytes);
  return take(file_, arrow::ipc::Message::Open(head, body));
}

// What has to be read for a batch: of each dictionary the last whole one before it and what was
// added to that.
std::vector<IpcIndex::Message> IpcIndex::messages_for(const Batch& batch) const {
  std::map<int64_t, size_t> start;
  const auto known = static_cast<size_t>(batch.dictionaries);
  for (size_t i = 0; i < known; ++i) {
    if (!dictionaries_[i].delta) start[dictionaries_[i].id] = i;
  }
  std::vector<Message> messages = {schema_message_};
  for (size_t i = 0; i < known; ++i) {
    const auto first = start.find(dictionaries_[i].id);
    if (first != start.end() && i >= first->second) messages.push_back(dictionaries_[i].message);
  }
  messages.push_back(batch.message);
  return messages;
}

std::shared_ptr<arrow::Array> IpcIndex::read(int64_t number, int column) const {
  const Batch& batch = batches_.at(static_cast<size_t>(number));
  const std::string where = concat(file_, ": record batch ", number);
  arrow::ipc::IpcReadOptions options;
  options.use_threads = false;
  options.included_fields = {column};
  options.ensure_alignment = arrow::ipc::Alignment::kDataTypeSpecificAlignment;
  try {
    const auto reader =
        take(where, arrow::ipc::RecordBatchStreamReader::Open(
                        std::make_unique<Messages>(*this, messages_for(batch)), options));
    std::shared_ptr<arrow::RecordBatch> rows;
    const arrow::Status status = reader->ReadNext(&rows);
    CANTILEVER_CHECK(status.ok(), where, ": not readable as Arrow IPC: ", status.message());
    const int64_t first = number == 0 ? 0 : batch_ends_[static_cast<size_t>(number) - 1];
    const int64_t expected = batch_ends_[static_cast<size_t>(number)] - first;
    CANTILEVER_CHECK(rows && rows->num_columns() == 1 && rows->num_rows() == expected, where,
                     ": it did not come out as one column of ", expected,
                     " rows; the file is damaged");
    const std::shared_ptr<arrow::Array> array = rows->column(0);
    const arrow::Status valid = array->Validate();
    CANTILEVER_CHECK(valid.ok() && array->length() == expected, where,
                     ": it is damaged: ", valid.ok() ? "wrong length" : valid.message());
    return array;
  } catch (const std::bad_alloc&) {
    throw_error(concat(where, ": there is not enough memory to decode it"));
  }
}

int64_t IpcIndex::decompressed_bytes(int64_t number) const {
  const Message& message = batches_.at(static_cast<size_t>(number)).message;
  const auto table = FlatTable::root(metadata(message));
  const auto header = table ? table->table(message_field::kHeader) : std::nullopt;
  if (!header || !header->table(batch_field::kCompression)) return 0;
  const auto buffers = header->structs(batch_field::kBuffers, kBufferBytes);
  const auto body = mapped_->bytes().subspan(
      static_cast<size_t>(message.offset) + static_cast<size_t>(message.metadata_bytes),
      static_cast<size_t>(message.body_bytes));
  int64_t sum = 0;
  for (size_t at = 0; at < buffers.size(); at += kBufferBytes) {
    const auto offset = *FlatTable::load<int64_t>(buffers, at);
    // The length after decompression stands before the bytes, -1 when they are not compressed.
    const auto claimed =
        offset < 0 ? std::nullopt : FlatTable::load<int64_t>(body, static_cast<size_t>(offset));
    if (claimed && *claimed > 0 && *claimed < INT64_MAX / 2 - sum) sum += *claimed;
  }
  return sum;
}

}  // namespace cantilever
