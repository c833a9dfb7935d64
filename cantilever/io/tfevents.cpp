#include "cantilever/io/tfevents.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "cantilever/base/error.h"
#include "cantilever/base/file.h"
#include "cantilever/io/text_bytes.h"

namespace cantilever {
namespace {

// CRC-32C, the Castagnoli polynomial in reversed bit order.
constexpr std::array<uint32_t, 256> make_crc_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0x82f63b78u : 0);
    table[i] = value;
  }
  return table;
}

// The sum that TFRecord stores: rotated and offset, so that a file of records within a record does
// not sum to a constant.
uint32_t masked_crc(std::string_view bytes) {
  static constexpr std::array<uint32_t, 256> kTable = make_crc_table();
  uint32_t crc = 0xffffffffu;
  for (const char c : bytes)
    crc = kTable[(crc ^ static_cast<unsigned char>(c)) & 0xff] ^ (crc >> 8);
  crc = ~crc;
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

// Protocol buffers by hand: five small messages do not carry a library. Field numbers are those of
// tensorboard's event.proto, summary.proto, tensor.proto and tensor_shape.proto.
class Message {
 public:
  Message& integer(uint32_t field, uint64_t value) {
    varint(field << 3);
    varint(value);
    return *this;
  }
  Message& real(uint32_t field, double value) {
    varint(field << 3 | 1);
    return raw(&value, sizeof value);
  }
  Message& real(uint32_t field, float value) {
    varint(field << 3 | 5);
    return raw(&value, sizeof value);
  }
  Message& bytes(uint32_t field, std::string_view value) {
    varint(field << 3 | 2);
    varint(value.size());
    return raw(value.data(), value.size());
  }
  Message& message(uint32_t field, const Message& value) { return bytes(field, value.bytes_); }

  const std::string& text() const { return bytes_; }

 private:
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }
  Message& raw(const void* data, size_t size) {
    bytes_.append(static_cast<const char*>(data), size);
    return *this;
  }

  std::string bytes_;
};

std::string host_name() {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return "localhost";
  for (char& c : name) {
    if (c == '/') c = '_';
  }
  return name;
}

double seconds_now() {
  using std::chrono::system_clock;
  return std::chrono::duration<double>(system_clock::now().time_since_epoch()).count();
}

void append_number(std::string& out, const void* value, size_t size) {
  out.append(static_cast<const char*>(value), size);
}

}  // namespace

struct EventFileWriter::State {
  std::filesystem::path path;
  int descriptor = -1;
  off_t size = 0;

  ~State() {
    if (descriptor >= 0) ::close(descriptor);
  }

  void create(const std::filesystem::path& folder) {
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "%010lld", static_cast<long long>(seconds_now()));
    const std::string stem =
        concat("events.out.tfevents.", seconds, ".", host_name(), ".", ::getpid(), ".");
    for (int n = 0; descriptor < 0; ++n) {
      path = folder / (stem + std::to_string(n));
      descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
      CANTILEVER_CHECK(descriptor >= 0 || errno == EEXIST, "cannot write ", path.string(), ": ",
                       std::strerror(errno));
    }
  }

  void write_record(const std::string& message) {
    std::string record;
    const uint64_t length = message.size();
    append_number(record, &length, sizeof length);
    const uint32_t length_crc = masked_crc(record);
    append_number(record, &length_crc, sizeof length_crc);
    record += message;
    const uint32_t message_crc = masked_crc(message);
    append_number(record, &message_crc, sizeof message_crc);
    std::string_view rest = record;
    while (!rest.empty()) {
      const ssize_t put = ::write(descriptor, rest.data(), rest.size());
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) fail();
      rest.remove_prefix(static_cast<size_t>(put));
    }
    size += static_cast<off_t>(record.size());
  }

  // Cuts off a half-written record, behind which a reader would find nothing.
  [[noreturn]] void fail() {
    const int error = errno;
    std::string consequence;
    if (::ftruncate(descriptor, size) != 0 || ::lseek(descriptor, size, SEEK_SET) < 0) {
      consequence = "; its last record is incomplete";
    }
    throw_error(concat("cannot write ", path.string(), ": ", std::strerror(error), consequence));
  }

  void write_value(const Message& value, int64_t step) {
    Message event;
    event.real(1, seconds_now()).integer(2, static_cast<uint64_t>(step));
    event.message(5, Message().message(1, value));
    write_record(event.text());
  }
};

EventFileWriter::EventFileWriter(const std::filesystem::path& folder)
    : state_(std::make_unique<State>()) {
  make_folders(folder);
  state_->create(folder);
  state_->write_record(Message().real(1, seconds_now()).bytes(3, "brain.Event:2").text());
}

EventFileWriter::~EventFileWriter() = default;

const std::filesystem::path& EventFileWriter::path() const {
  return state_->path;
}

void EventFileWriter::add_scalar(const std::string& tag, double value, int64_t step) {
  Message summary;
  summary.bytes(1, replace_invalid_utf8(tag)).real(2, static_cast<float>(value));
  state_->write_value(summary, step);
}

// As torch.utils.tensorboard's add_text: a string tensor of shape [1] for the "text" plugin.
void EventFileWriter::add_text(const std::string& tag, const std::string& text, int64_t step) {
  constexpr uint64_t kDtString = 7;
  const Message shape = Message().message(2, Message().integer(1, 1));
  Message tensor;
  tensor.integer(1, kDtString).message(2, shape).bytes(8, replace_invalid_utf8(text));
  const Message metadata = Message().message(1, Message().bytes(1, "text"));
  Message summary;
  summary.bytes(1, replace_invalid_utf8(tag) + "/text_summary");
  summary.message(8, tensor).message(9, metadata);
  state_->write_value(summary, step);
}

void EventFileWriter::add_image(const std::string& tag, std::span<const std::byte> png, int width,
                                int height, int64_t step) {
  const std::string_view data(reinterpret_cast<const char*>(png.data()), png.size());
  constexpr size_t kColorTypeByte = 25;  // of the IHDR chunk
  CANTILEVER_ASSERT(data.starts_with("\x89PNG\r\n\x1a\n") && data.size() > kColorTypeByte, "image ",
                    quoted(tag), " is not a PNG");
  // Channels by PNG colour type: grey 1, grey and alpha 2, colour (or palette) 3, colour and
  // alpha 4.
  constexpr std::array<uint64_t, 7> kChannels = {1, 3, 3, 3, 2, 3, 4};
  const auto type = static_cast<unsigned char>(data[kColorTypeByte]);
  Message image;
  image.integer(1, static_cast<uint64_t>(height)).integer(2, static_cast<uint64_t>(width));
  image.integer(3, type < kChannels.size() ? kChannels[type] : 3).bytes(4, data);
  state_->write_value(Message().bytes(1, replace_invalid_utf8(tag)).message(4, image), step);
}

}  // namespace cantilever
