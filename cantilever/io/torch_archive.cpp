#include "cantilever/io/torch_archive.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "cantilever/base/error.h"
#include "cantilever/io/foreign_file.h"

namespace cantilever {
namespace {

constexpr size_t kMaxDimensions = 64;
constexpr uint64_t kSpareCopyBytes = uint64_t{64} << 20;
constexpr std::string_view kPickleName = "data.pkl";

struct TypeName {
  std::string_view name;
  DType dtype;
};

constexpr TypeName kTypes[] = {
    {"DoubleStorage", DType::kF64},    {"FloatStorage", DType::kF32}, {"HalfStorage", DType::kF16},
    {"BFloat16Storage", DType::kBF16}, {"LongStorage", DType::kI64},  {"IntStorage", DType::kI32},
    {"ShortStorage", DType::kI16},     {"CharStorage", DType::kI8},   {"ByteStorage", DType::kU8},
    {"BoolStorage", DType::kBool},     {"uint16", DType::kU16},       {"uint32", DType::kU32},
    {"uint64", DType::kU64},           {"UntypedStorage", DType::kU8}};

DType dtype_of(std::string_view name) {
  const auto* found = std::find_if(std::begin(kTypes), std::end(kTypes),
                                   [&](const TypeName& type) { return type.name == name; });
  CANTILEVER_ASSERT(found != std::end(kTypes), "no dtype for ", name);
  return found->dtype;
}

// "PREFIX/" of the one record PREFIX/data.pkl; empty when there is none.
std::string find_prefix(const std::vector<std::string_view>& names) {
  for (const std::string_view name : names) {
    const size_t slash = name.find('/');
    if (slash != name.npos && name.substr(slash + 1) == kPickleName) {
      return std::string(name.substr(0, slash + 1));
    }
  }
  return {};
}

bool is_torch_script(const std::vector<std::string_view>& names, const std::string& prefix) {
  return std::any_of(names.begin(), names.end(), [&](std::string_view name) {
    return name == prefix + "constants.pkl" || name.starts_with(prefix + "code/");
  });
}

}  // namespace

TorchArchive::TorchArchive(const std::filesystem::path& path) : file_(path) {
  open_archive();
  values_ = read_pickle(archive_->record(prefix_ + std::string(kPickleName)), where());
}

void TorchArchive::open_archive() {
  CANTILEVER_CHECK(!file_.bytes().empty(), where(),
                   ": the file is empty (0 bytes); download or copy it again");
  if (!file_.text().starts_with("PK\x03\x04")) {
    const std::string foreign = describe_foreign_file(file_.bytes());
    throw_error(concat(where(), ": not a file of torch.save (a zip archive): ",
                       foreign.empty()
                           ? "it begins with " + quoted(std::string(file_.text().substr(0, 8)))
                           : foreign));
  }
  archive_.emplace(file_.bytes(), where());
  const std::vector<std::string_view> names = archive_->names();
  prefix_ = find_prefix(names);
  CANTILEVER_CHECK(!prefix_.empty(), where(),
                   ": a zip archive without data.pkl, so not a file of torch.save");
  CANTILEVER_CHECK(!is_torch_script(names, prefix_), where(),
                   ": a TorchScript archive (torch.jit.save), which holds a program; load it in "
                   "PyTorch and save its state_dict() with torch.save or safetensors");
  if (archive_->contains(prefix_ + "byteorder")) {
    const std::span<const std::byte> record = archive_->record(prefix_ + "byteorder");
    const std::string order(reinterpret_cast<const char*>(record.data()), record.size());
    CANTILEVER_CHECK(order == "little", where(), ": its byte order is ", quoted(order),
                     "; only 'little' is read. Load it in PyTorch on a little-endian machine and "
                     "save it again");
  }
}

TorchArchive::Layout TorchArchive::read_layout(const PickleNode& node,
                                               const std::string& place) const {
  Layout layout;
  layout.offset = values_[node.items[1]].integer;
  const std::vector<uint32_t>& size = values_[node.items[2]].items;
  const std::vector<uint32_t>& stride = values_[node.items[3]].items;
  CANTILEVER_CHECK(layout.offset >= 0, place, " has the storage offset ", layout.offset);
  CANTILEVER_CHECK(size.size() == stride.size() && size.size() <= kMaxDimensions, place, " has ",
                   size.size(), " sizes and ", stride.size(), " strides");
  for (size_t i = 0; i < size.size(); ++i) {
    const PickleNode& extent = values_[size[i]];
    const PickleNode& step = values_[stride[i]];
    CANTILEVER_CHECK(extent.kind == PickleKind::kInt && step.kind == PickleKind::kInt, place,
                     ": sizes and strides should be integers, dimension ", i, " has a ",
                     kind_name(extent.kind), " and a ", kind_name(step.kind));
    CANTILEVER_CHECK(extent.integer >= 0 && step.integer >= 0, place, ": dimension ", i,
                     " has size ", extent.integer, " and stride ", step.integer);
    layout.size.push_back(extent.integer);
    layout.stride.push_back(step.integer);
  }
  return layout;
}

std::span<const std::byte> TorchArchive::storage(const PickleNode& node, size_t element_bytes,
                                                 const std::string& place) const {
  const std::string key(values_[node.items[1]].text);
  const auto elements = static_cast<uint64_t>(values_[node.items[3]].integer);
  const std::string name = concat(prefix_, "data/", key);
  const std::span<const std::byte> record = archive_->record(name);
  CANTILEVER_CHECK(elements <= record.size() && elements * element_bytes == record.size(), place,
                   ": its storage should hold ", elements, " elements of ", element_bytes,
                   " bytes, but record ", quoted(name), " has ", record.size(), " bytes");
  return record;
}

TensorView TorchArchive::tensor(const PickleNode& node, const std::string& name) {
  CANTILEVER_ASSERT(node.kind == PickleKind::kTensor);
  const std::string place = concat(where(), ": tensor ", quoted(name));
  const PickleNode& source = values_[node.items[0]];
  const DType storage_type = dtype_of(values_[source.items[0]].text);
  const DType dtype = dtype_of(values_[node.items[4]].text);
  const Layout layout = read_layout(node, place);
  const std::span<const std::byte> data = storage(source, byte_size(storage_type), place);

  // How many elements, and up to which one the strides reach; both without overflow.
  const size_t element_bytes = byte_size(dtype);
  int64_t numel = 1;
  int64_t last = layout.offset;
  bool sound = true;
  bool empty = false;
  for (size_t i = 0; i < layout.size.size(); ++i) {
    int64_t reach = 0;
    empty = empty || layout.size[i] == 0;
    sound = sound && !__builtin_mul_overflow(numel, layout.size[i], &numel);
    sound = sound &&
            !__builtin_mul_overflow(std::max<int64_t>(layout.size[i] - 1, 0), layout.stride[i],
                                    &reach) &&
            !__builtin_add_overflow(last, reach, &last);
  }
  const auto available = static_cast<int64_t>(data.size() / element_bytes);
  CANTILEVER_CHECK(sound && (empty || last < available), place, ": shape ",
                   format_shape(layout.size), " with strides ", format_shape(layout.stride),
                   " and offset ", layout.offset, " reaches beyond its storage of ", available,
                   " elements");
  TensorView view{name, dtype, layout.size, {}};
  if (empty) return view;
  int64_t expected = 1;  // the stride that row-major data has
  bool contiguous = true;
  for (size_t i = layout.size.size(); i > 0; --i) {
    contiguous = contiguous && (layout.size[i - 1] == 1 || layout.stride[i - 1] == expected);
    expected *= layout.size[i - 1];
  }
  uint64_t bytes = 0;
  CANTILEVER_CHECK(!__builtin_mul_overflow(static_cast<uint64_t>(numel), element_bytes, &bytes),
                   place, ": the number of bytes of shape ", format_shape(layout.size),
                   " overflows 64 bits");
  view.data = contiguous ? data.subspan(static_cast<size_t>(layout.offset) * element_bytes, bytes)
                         : gather(layout, data, element_bytes, bytes, place);
  return view;
}

// Copies strided elements into a row-major block. An expanded tensor (stride 0) may be far larger
// than the file that holds it, so copies are limited by the size of the file.
std::span<const std::byte> TorchArchive::gather(const Layout& layout,
                                                std::span<const std::byte> storage,
                                                size_t element_bytes, uint64_t bytes,
                                                const std::string& place) {
  const uint64_t limit = file_.bytes().size() + kSpareCopyBytes;
  CANTILEVER_CHECK(bytes <= limit - std::min(limit, copied_bytes_), place, ": shape ",
                   format_shape(layout.size), " with strides ", format_shape(layout.stride),
                   " needs a copy of ", bytes, " bytes, which with ", copied_bytes_,
                   " bytes copied before is more than the whole file could justify (", limit,
                   "); save tensor.contiguous() instead");
  copied_bytes_ += bytes;
  copies_.push_back(std::make_unique<std::byte[]>(bytes));
  std::byte* out = copies_.back().get();
  std::vector<int64_t> index(layout.size.size(), 0);
  int64_t element = layout.offset;
  for (uint64_t done = 0; done < bytes; done += element_bytes) {
    std::memcpy(out + done, storage.data() + static_cast<size_t>(element) * element_bytes,
                element_bytes);
    // The next index, the last dimension fastest.
    for (size_t d = index.size(); d > 0; --d) {
      element += layout.stride[d - 1];
      if (++index[d - 1] < layout.size[d - 1]) break;
      element -= index[d - 1] * layout.stride[d - 1];
      index[d - 1] = 0;
    }
  }
  return {out, bytes};
}

}  // namespace cantilever
