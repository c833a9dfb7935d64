#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "cantilever/base/error.h"
#include "cantilever/base/file.h"
#include "cantilever/io/foreign_file.h"
#include "cantilever/io/json.h"
#include "cantilever/io/safetensors.h"

namespace cantilever {
namespace {

constexpr uint64_t kMaxHeaderBytes = 100'000'000;
constexpr size_t kLengthBytes = 8;
constexpr const char* kUnsupportedTypes[] = {"F4",          "F6_E2M3",     "F6_E3M2",
                                             "F8_E5M2",     "F8_E4M3",     "F8_E8M0",
                                             "F8_E4M3FNUZ", "F8_E5M2FNUZ", "C64"};

struct Entry {
  TensorView tensor;
  uint64_t begin = 0;
  uint64_t end = 0;
};

class SafetensorsFile : public WeightFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path) : file_(path) {}

  void read();

  const std::vector<TensorView>& tensors() const override { return tensors_; }
  const std::map<std::string, std::string>& metadata() const override { return metadata_; }
  std::string description() const override { return concat(where(), " (safetensors)"); }

 private:
  std::string where() const { return file_.path().string(); }
  Json read_header();
  void read_metadata(const Json& value);
  Entry read_entry(const std::string& name, const Json& value) const;
  void check_layout(const std::vector<Entry>& entries) const;

  MappedFile file_;
  size_t header_bytes_ = 0;
  std::vector<TensorView> tensors_;
  std::map<std::string, std::string> metadata_;
};

Json SafetensorsFile::read_header() {
  const size_t size = file_.bytes().size();
  CANTILEVER_CHECK(size > 0, where(), ": the file is empty (0 bytes); download or copy it again");
  CANTILEVER_CHECK(size >= kLengthBytes, where(), ": ", size,
                   " bytes are too few for a safetensors file, which starts with an 8-byte length");
  uint64_t length = 0;
  std::memcpy(&length, file_.bytes().data(), sizeof length);
  CANTILEVER_CHECK(length <= kMaxHeaderBytes, where(), ": header too large: its length field says ",
                   length, " bytes, the format allows ", kMaxHeaderBytes,
                   "; this is not a safetensors file or it is damaged");
  CANTILEVER_CHECK(length <= size - kLengthBytes, where(), ": incomplete file: with a header of ",
                   length, " bytes at least ", length + kLengthBytes,
                   " bytes were expected, found ", size, " (an interrupted download?)");
  header_bytes_ = static_cast<size_t>(length);
  return parse_json(file_.text().substr(kLengthBytes, header_bytes_), where() + ": header",
                    DuplicateKeys::kRefuse);
}

void SafetensorsFile::read_metadata(const Json& value) {
  if (value.is_null()) return;
  CANTILEVER_CHECK(value.is_object(), where(), ": __metadata__ is ", value.type_name(),
                   ", it should be an object of strings");
  for (const auto& [key, text] : value.items()) {
    CANTILEVER_CHECK(text.is_string(), where(), ": __metadata__: the value of ", quoted(key),
                     " is ", quoted(dump_json(text, -1)), " (", text.type_name(),
                     "), the format allows strings only");
    metadata_[key] = text.get<std::string>();
  }
}

const Json& member(const Json& object, const char* key, const std::string& where) {
  const auto found = object.find(key);
  CANTILEVER_CHECK(found != object.end(), where, " has no ", quoted(key), " in the header");
  return *found;
}

std::vector<uint64_t> read_counts(const Json& value, const char* what, const std::string& where) {
  CANTILEVER_CHECK(value.is_array(), where, ": ", what, " is ", quoted(dump_json(value, -1)),
                   ", it should be a list of integers");
  std::vector<uint64_t> counts;
  for (const Json& item : value) {
    CANTILEVER_CHECK(item.is_number_unsigned() &&
                         item.get<uint64_t>() <= uint64_t{std::numeric_limits<int64_t>::max()},
                     where, ": ", what, " is ", quoted(dump_json(value, -1)), "; ",
                     quoted(dump_json(item, -1)), " is not an integer from 0 to 2^63 - 1");
    counts.push_back(item.get<uint64_t>());
  }
  return counts;
}

DType read_dtype(const Json& value, const std::string& where) {
  const std::string name = value.is_string() ? value.get<std::string>() : dump_json(value, -1);
  if (const std::optional<DType> dtype = dtype_from_name(name); value.is_string() && dtype) {
    return *dtype;
  }
  const bool known = std::find(std::begin(kUnsupportedTypes), std::end(kUnsupportedTypes), name) !=
                     std::end(kUnsupportedTypes);
  throw_error(concat(where, " has dtype ", quoted(name), ", which ",
                     known ? "the format has but this program does not read"
                           : "the safetensors format does not know",
                     "; it reads F64, F32, F16, BF16, I64 to I8, U64 to U8 and BOOL"));
}

Entry SafetensorsFile::read_entry(const std::string& name, const Json& value) const {
  const std::string place = concat(where(), ": tensor ", quoted(name));
  CANTILEVER_CHECK(value.is_object(), place, " has no object in the header but ",
                   value.type_name());
  Entry entry;
  entry.tensor.name = name;
  entry.tensor.dtype = read_dtype(member(value, "dtype", place), place);
  uint64_t bytes = byte_size(entry.tensor.dtype);
  uint64_t numel = 1;
  for (const uint64_t size : read_counts(member(value, "shape", place), "shape", place)) {
    entry.tensor.shape.push_back(static_cast<int64_t>(size));
    // As the format's own reader: an overflow counts even where a later size of 0 would hide it.
    CANTILEVER_CHECK(!__builtin_mul_overflow(numel, size, &numel), place,
                     ": the number of elements of shape ", quoted(dump_json(value["shape"], -1)),
                     " overflows 64 bits");
  }
  CANTILEVER_CHECK(!__builtin_mul_overflow(numel, bytes, &bytes), place,
                   ": the number of bytes of shape ", format_shape(entry.tensor.shape),
                   " overflows 64 bits");
  const std::vector<uint64_t> offsets =
      read_counts(member(value, "data_offsets", place), "data_offsets", place);
  CANTILEVER_CHECK(offsets.size() == 2, place, ": data_offsets has ", offsets.size(),
                   " numbers, not 2");
  entry.begin = offsets[0];
  entry.end = offsets[1];
  CANTILEVER_CHECK(entry.begin <= entry.end, place, ": data_offsets [", entry.begin, ", ",
                   entry.end, "] end before they begin");
  CANTILEVER_CHECK(entry.end - entry.begin == bytes, place, ": shape ",
                   format_shape(entry.tensor.shape), " of ", dtype_name(entry.tensor.dtype),
                   " needs ", bytes, " bytes, data_offsets [", entry.begin, ", ", entry.end,
                   "] give ", entry.end - entry.begin);
  return entry;
}

// `entries` are sorted by offset and must cover the rest of the file exactly.
void SafetensorsFile::check_layout(const std::vector<Entry>& entries) const {
  uint64_t covered = 0;
  std::string previous;
  for (const Entry& entry : entries) {
    const std::string name = quoted(entry.tensor.name);
    CANTILEVER_CHECK(entry.begin >= covered, where(), ": overlapping offsets: tensor ", name,
                     " begins at ", entry.begin, ", but tensor ", previous, " ends at ", covered);
    CANTILEVER_CHECK(entry.begin == covered, where(), ": a gap in the data: tensor ", name,
                     " begins at ", entry.begin, ", but what lies before it ends at ", covered);
    covered = entry.end;
    previous = name;
  }
  const size_t found = file_.bytes().size();
  const uint64_t expected = covered + kLengthBytes + header_bytes_;
  CANTILEVER_CHECK(found >= expected, where(), ": incomplete file: expected ", expected,
                   " bytes, found ", found, " (an interrupted download?)");
  CANTILEVER_CHECK(found == expected, where(), ": ", found - expected,
                   " bytes after the last tensor, which the format forbids: expected ", expected,
                   " bytes, found ", found);
}

void SafetensorsFile::read() {
  Json header;
  try {
    header = read_header();
    CANTILEVER_CHECK(header.is_object(), where(), ": the header is not a JSON object but ",
                     header.type_name());
  } catch (const Error&) {
    // Only now, since a good file may begin with any bytes.
    const std::string foreign = describe_foreign_file(file_.bytes());
    if (foreign.empty() || foreign.ends_with("safetensors file")) throw;
    throw_error(concat(where(), ": not a safetensors file: ", foreign));
  }
  std::vector<Entry> entries;
  for (const auto& [name, value] : header.items()) {
    if (name == "__metadata__") {
      read_metadata(value);
    } else {
      entries.push_back(read_entry(name, value));
    }
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  check_layout(entries);
  const auto data = file_.bytes().subspan(kLengthBytes + header_bytes_);
  for (Entry& entry : entries) {
    entry.tensor.data = data.subspan(entry.begin, entry.end - entry.begin);
    tensors_.push_back(std::move(entry.tensor));
  }
  std::sort(tensors_.begin(), tensors_.end(),
            [](const TensorView& a, const TensorView& b) { return a.name < b.name; });
}

}  // namespace

std::unique_ptr<WeightFile> open_safetensors(const std::filesystem::path& path) {
  auto file = std::make_unique<SafetensorsFile>(path);
  file->read();
  return file;
}

}  // namespace cantilever
