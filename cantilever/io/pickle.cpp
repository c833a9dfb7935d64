#include "cantilever/io/pickle.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <utility>

#include "cantilever/base/error.h"

namespace cantilever {
namespace {

// A state dict of a thousand tensors takes about 100 KB and 10,000 values.
constexpr size_t kMaxPickleBytes = size_t{64} << 20;
constexpr size_t kMaxNodes = 1'000'000;
constexpr size_t kMaxMarks = 1000;
constexpr size_t kMaxRecordName = 100;  // of a storage; torch.save numbers them
constexpr size_t kMaxArguments = 16;    // of a call; a tensor has up to 8
constexpr uint8_t kMaxProtocol = 5;

struct KnownGlobal {
  std::string_view module, name;
  PickleGlobal global;
};

constexpr KnownGlobal kGlobals[] = {
    {"collections", "OrderedDict", PickleGlobal::kOrderedDict},
    {"torch._utils", "_rebuild_tensor", PickleGlobal::kRebuildTensor},
    {"torch._utils", "_rebuild_tensor_v2", PickleGlobal::kRebuildTensorV2},
    {"torch._utils", "_rebuild_tensor_v3", PickleGlobal::kRebuildTensorV3},
    {"torch._utils", "_rebuild_parameter", PickleGlobal::kRebuildParameter},
    {"torch._utils", "_rebuild_parameter_with_state", PickleGlobal::kRebuildParameterWithState},
    {"torch", "Size", PickleGlobal::kSize},
    {"torch", "DoubleStorage", PickleGlobal::kStorageType},
    {"torch", "FloatStorage", PickleGlobal::kStorageType},
    {"torch", "HalfStorage", PickleGlobal::kStorageType},
    {"torch", "BFloat16Storage", PickleGlobal::kStorageType},
    {"torch", "LongStorage", PickleGlobal::kStorageType},
    {"torch", "IntStorage", PickleGlobal::kStorageType},
    {"torch", "ShortStorage", PickleGlobal::kStorageType},
    {"torch", "CharStorage", PickleGlobal::kStorageType},
    {"torch", "ByteStorage", PickleGlobal::kStorageType},
    {"torch", "BoolStorage", PickleGlobal::kStorageType},
    {"torch.storage", "UntypedStorage", PickleGlobal::kStorageType},
    {"torch", "uint16", PickleGlobal::kDType},
    {"torch", "uint32", PickleGlobal::kDType},
    {"torch", "uint64", PickleGlobal::kDType},
};

// Opcodes by the names of Python's pickle module.
enum Opcode : uint8_t {
  kMark = '(',
  kStop = '.',
  kPop = '0',
  kPopMark = '1',
  kBinFloat = 'G',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kNoneOp = 'N',
  kBinPersId = 'Q',
  kReduce = 'R',
  kBinUnicode = 'X',
  kAppend = 'a',
  kBuild = 'b',
  kGlobalOp = 'c',
  kAppends = 'e',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kSetItem = 's',
  kTupleOp = 't',
  kSetItems = 'u',
  kEmptyDict = '}',
  kEmptyList = ']',
  kEmptyTuple = ')',
  kProto = 0x80,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kLong1 = 0x8a,
  kShortBinUnicode = 0x8c,
  kBinUnicode8 = 0x8d,
  kStackGlobal = 0x93,
  kMemoize = 0x94,
  kFrame = 0x95,
};

class Machine {
 public:
  Machine(std::span<const std::byte> pickle, const std::string& where)
      : text_(reinterpret_cast<const char*>(pickle.data()), pickle.size()), where_(where) {}

  PickleValues run() {
    CANTILEVER_CHECK(text_.size() <= kMaxPickleBytes, where_, ": a pickle of ", text_.size(),
                     " bytes is too large for a dict of tensors; at most ", kMaxPickleBytes,
                     " are read");
    while (step()) {
    }
    return std::move(values_);
  }

 private:
  using Kind = PickleKind;

  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    throw_error(concat(where_, ": at byte ", opcode_at_, " of the pickle: ", parts...));
  }

  // Reading.
  std::string_view take(uint64_t count) {
    if (count > text_.size() - at_) {
      fail("the pickle ends in the middle of a value (", count, " bytes wanted, ",
           text_.size() - at_, " left); the file is damaged or cut short");
    }
    const std::string_view taken = text_.substr(at_, static_cast<size_t>(count));
    at_ += static_cast<size_t>(count);
    return taken;
  }
  template <class T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string_view line() {
    const size_t end = text_.find('\n', at_);
    if (end == text_.npos) fail("a name without an end");
    const std::string_view taken = take(end - at_);
    ++at_;
    return taken;
  }

  // The stack. Nothing below the innermost mark can be reached, as in Python's own interpreter.
  size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  uint32_t top() const {
    if (stack_.size() <= floor()) fail("the value that an operation needs is missing");
    return stack_.back();
  }
  uint32_t pop() {
    const uint32_t index = top();
    stack_.pop_back();
    return index;
  }
  std::vector<uint32_t> pop_to_mark() {
    if (marks_.empty()) fail("an operation needs a mark that is not there");
    std::vector<uint32_t> items(stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back()),
                                stack_.end());
    stack_.resize(marks_.back());
    marks_.pop_back();
    return items;
  }
  void push(PickleNode node) {
    if (values_.nodes.size() >= kMaxNodes) {
      fail("more than ", kMaxNodes, " values; this is no dict of tensors");
    }
    stack_.push_back(static_cast<uint32_t>(values_.nodes.size()));
    values_.nodes.push_back(std::move(node));
  }
  void push_integer(Kind kind, int64_t value) { push({kind, value, 0, {}, {}}); }
  void push_text(std::string_view text) { push({Kind::kString, 0, 0, text, {}}); }
  void push_items(Kind kind, std::vector<uint32_t> items) {
    push({kind, 0, 0, {}, std::move(items)});
  }
  void push_tuple(size_t count) {
    std::vector<uint32_t> items(count);
    for (size_t i = count; i > 0; --i) items[i - 1] = pop();
    push_items(Kind::kTuple, std::move(items));
  }

  PickleNode& node(uint32_t index) { return values_.nodes[index]; }
  const PickleNode& expect(uint32_t index, Kind kind, const char* what) const {
    const PickleNode& found = values_.nodes[index];
    if (found.kind != kind) {
      fail(what, " should be a ", kind_name(kind), " and is a ", kind_name(found.kind));
    }
    return found;
  }
  bool is_global(uint32_t index, PickleGlobal global) const {
    const PickleNode& found = values_.nodes[index];
    return found.kind == Kind::kGlobal && found.integer == static_cast<int64_t>(global);
  }

  bool step();
  bool step_scalar(uint8_t opcode);
  bool step_container(uint8_t opcode);
  bool step_memo(uint8_t opcode);
  void push_long();
  void push_global(std::string_view module, std::string_view name);
  void append(std::vector<uint32_t> values);
  void set_items(std::vector<uint32_t> values);
  void load_persistent();
  void reduce();
  void rebuild_tensor(const std::vector<uint32_t>& arguments, PickleGlobal how);
  void build();

  std::string_view text_;
  std::string where_;
  size_t at_ = 0;
  size_t opcode_at_ = 0;
  std::vector<uint32_t> stack_;
  std::vector<size_t> marks_;
  std::unordered_map<uint32_t, uint32_t> memo_;
  PickleValues values_;
};

// False at the end of the pickle.
bool Machine::step() {
  opcode_at_ = at_;
  const auto opcode = number<uint8_t>();
  if (step_scalar(opcode) || step_container(opcode) || step_memo(opcode)) return true;
  switch (opcode) {
    case kProto:
      if (const auto protocol = number<uint8_t>(); protocol > kMaxProtocol) {
        fail("pickle protocol ", int{protocol}, "; protocols up to ", int{kMaxProtocol},
             " are read");
      }
      return true;
    case kFrame:
      take(8);
      return true;
    case kPop:
      pop();
      return true;
    case kPopMark:
      pop_to_mark();
      return true;
    case kGlobalOp: {
      const std::string_view module = line();
      push_global(module, line());
      return true;
    }
    case kStackGlobal: {
      const std::string_view name = expect(pop(), Kind::kString, "the name of a global").text;
      push_global(expect(pop(), Kind::kString, "the module of a global").text, name);
      return true;
    }
    case kBinPersId:
      load_persistent();
      return true;
    case kReduce:
      reduce();
      return true;
    case kBuild:
      build();
      return true;
    case kStop:
      values_.root = pop();
      return false;
    default:
      fail("pickle operation ", quoted(std::string(1, static_cast<char>(opcode))), " (",
           int{opcode}, ") is not one that a dict of tensors needs; only such files are read");
  }
}

bool Machine::step_scalar(uint8_t opcode) {
  switch (opcode) {
    case kNoneOp:
      push({});
      return true;
    case kNewTrue:
    case kNewFalse:
      push_integer(Kind::kBool, opcode == kNewTrue ? 1 : 0);
      return true;
    case kBinInt:
      push_integer(Kind::kInt, number<int32_t>());
      return true;
    case kBinInt1:
      push_integer(Kind::kInt, number<uint8_t>());
      return true;
    case kBinInt2:
      push_integer(Kind::kInt, number<uint16_t>());
      return true;
    case kLong1:
      push_long();
      return true;
    case kBinFloat:  // big-endian, unlike all else
      push({Kind::kFloat, 0, std::bit_cast<double>(__builtin_bswap64(number<uint64_t>())), {}, {}});
      return true;
    case kBinUnicode:
      push_text(take(number<uint32_t>()));
      return true;
    case kShortBinUnicode:
      push_text(take(number<uint8_t>()));
      return true;
    case kBinUnicode8:
      push_text(take(number<uint64_t>()));
      return true;
    default:
      return false;
  }
}

bool Machine::step_container(uint8_t opcode) {
  switch (opcode) {
    case kMark:
      if (marks_.size() >= kMaxMarks) fail("values nested more than ", kMaxMarks, " deep");
      marks_.push_back(stack_.size());
      return true;
    case kEmptyDict:
      push_items(Kind::kDict, {});
      return true;
    case kEmptyList:
      push_items(Kind::kList, {});
      return true;
    case kEmptyTuple:
      push_items(Kind::kTuple, {});
      return true;
    case kTuple1:
    case kTuple2:
    case kTuple3:
      push_tuple(size_t{opcode} - kTuple1 + 1);
      return true;
    case kTupleOp:
      push_items(Kind::kTuple, pop_to_mark());
      return true;
    case kAppend:
      append({pop()});
      return true;
    case kAppends:
      append(pop_to_mark());
      return true;
    case kSetItem: {
      const uint32_t value = pop();
      const uint32_t key = pop();
      set_items({key, value});
      return true;
    }
    case kSetItems:
      set_items(pop_to_mark());
      return true;
    default:
      return false;
  }
}

bool Machine::step_memo(uint8_t opcode) {
  uint32_t key = 0;
  switch (opcode) {
    case kBinPut:
    case kBinGet:
      key = number<uint8_t>();
      break;
    case kLongBinPut:
    case kLongBinGet:
      key = number<uint32_t>();
      break;
    case kMemoize:
      key = static_cast<uint32_t>(memo_.size());
      break;
    default:
      return false;
  }
  if (opcode == kBinGet || opcode == kLongBinGet) {
    const auto found = memo_.find(key);
    if (found == memo_.end()) fail("it refers to value number ", key, ", which was never stored");
    stack_.push_back(found->second);
  } else {
    memo_[key] = top();
  }
  return true;
}

void Machine::push_long() {
  const std::string_view bytes = take(number<uint8_t>());
  if (bytes.size() > 8) fail("an integer of ", bytes.size(), " bytes, which is beyond 64 bits");
  uint64_t value = !bytes.empty() && (bytes.back() & 0x80) != 0 ? ~uint64_t{0} : 0;
  std::memcpy(&value, bytes.data(), bytes.size());
  push_integer(Kind::kInt, static_cast<int64_t>(value));
}

void Machine::push_global(std::string_view module, std::string_view name) {
  for (const KnownGlobal& known : kGlobals) {
    if (known.module != module || known.name != name) continue;
    push({Kind::kGlobal, static_cast<int64_t>(known.global), 0, known.name, {}});
    return;
  }
  fail(
      "it wants to use ", quoted(concat(module, ".", name), 200),
      ", which is no part of a dict of tensors. Pickles can run any code, so nothing else is read; "
      "if you trust the file, load it in PyTorch and save model.state_dict() alone");
}

void Machine::append(std::vector<uint32_t> values) {
  const uint32_t list = top();
  expect(list, Kind::kList, "what is appended to");
  std::vector<uint32_t>& items = node(list).items;
  items.insert(items.end(), values.begin(), values.end());
}

void Machine::set_items(std::vector<uint32_t> values) {
  if (values.size() % 2 != 0) fail("a dict key without a value");
  const uint32_t dict = top();
  expect(dict, Kind::kDict, "what items are set in");
  std::vector<uint32_t>& items = node(dict).items;
  items.insert(items.end(), values.begin(), values.end());
}

// torch.save's reference to a record: ("storage", storage type, record name, location, elements).
void Machine::load_persistent() {
  const std::vector<uint32_t>& items = expect(pop(), Kind::kTuple, "a persistent reference").items;
  if (items.size() != 5) fail("a persistent reference has ", items.size(), " fields, not 5");
  const std::vector<uint32_t> fields = items;
  const std::string_view tag = expect(fields[0], Kind::kString, "its first field").text;
  if (tag != "storage") fail("a persistent reference to ", quoted(std::string(tag)));
  if (!is_global(fields[1], PickleGlobal::kStorageType)) {
    fail("the type of a storage is a ", kind_name(node(fields[1]).kind));
  }
  if (expect(fields[2], Kind::kString, "the record of a storage").text.size() > kMaxRecordName) {
    fail("the record of a storage has a name of ", node(fields[2]).text.size(), " bytes");
  }
  expect(fields[3], Kind::kString, "the location of a storage");
  if (expect(fields[4], Kind::kInt, "the size of a storage").integer < 0) {
    fail("a storage of ", node(fields[4]).integer, " elements");
  }
  push_items(Kind::kStorage, {fields.begin() + 1, fields.end()});
}

void Machine::reduce() {
  const uint32_t tuple = pop();
  if (expect(tuple, Kind::kTuple, "the arguments of a call").items.size() > kMaxArguments) {
    fail("a call with ", node(tuple).items.size(), " arguments");
  }
  const std::vector<uint32_t> arguments = node(tuple).items;
  const PickleNode& callee = expect(pop(), Kind::kGlobal, "what is called");
  const auto global = static_cast<PickleGlobal>(callee.integer);
  switch (global) {
    case PickleGlobal::kOrderedDict:
      if (!arguments.empty()) fail("an OrderedDict made of ", arguments.size(), " arguments");
      return push_items(Kind::kDict, {});
    case PickleGlobal::kSize:
      if (arguments.size() != 1) fail("a torch.Size of ", arguments.size(), " arguments");
      expect(arguments[0], Kind::kTuple, "the argument of torch.Size");
      return stack_.push_back(arguments[0]);
    case PickleGlobal::kRebuildTensor:
    case PickleGlobal::kRebuildTensorV2:
    case PickleGlobal::kRebuildTensorV3:
      return rebuild_tensor(arguments, global);
    case PickleGlobal::kRebuildParameter:
    case PickleGlobal::kRebuildParameterWithState:
      // (tensor, requires_grad, hooks[, state]): a parameter is its tensor here.
      if (arguments.size() < 3) fail("a parameter of ", arguments.size(), " arguments");
      expect(arguments[0], Kind::kTensor, "the value of a parameter");
      return stack_.push_back(arguments[0]);
    case PickleGlobal::kStorageType:
    case PickleGlobal::kDType:
      fail(quoted(std::string(callee.text)), " cannot be called");
  }
}

// (storage, offset, size, stride[, requires_grad, hooks[, dtype or metadata]]). Numbers are checked
// when the tensor is looked at, since only then the record is at hand.
void Machine::rebuild_tensor(const std::vector<uint32_t>& arguments, PickleGlobal how) {
  const bool typed = how == PickleGlobal::kRebuildTensorV3;
  const size_t least = typed ? 7 : how == PickleGlobal::kRebuildTensorV2 ? 6 : 4;
  if (arguments.size() < least) {
    fail("a tensor of ", arguments.size(), " arguments, at least ", least, " are needed");
  }
  const uint32_t type =
      typed ? arguments[6] : expect(arguments[0], Kind::kStorage, "the data of a tensor").items[0];
  expect(arguments[0], Kind::kStorage, "the data of a tensor");
  expect(arguments[1], Kind::kInt, "the offset of a tensor");
  expect(arguments[2], Kind::kTuple, "the size of a tensor");
  expect(arguments[3], Kind::kTuple, "the stride of a tensor");
  if (typed && !is_global(type, PickleGlobal::kDType)) fail("the dtype of a tensor is no dtype");
  push_items(Kind::kTensor, {arguments[0], arguments[1], arguments[2], arguments[3], type});
}

// Only a state dict has state, its _metadata of module versions, which nothing here needs.
void Machine::build() {
  pop();
  expect(top(), Kind::kDict, "what is given a state");
}

}  // namespace

const char* kind_name(PickleKind kind) {
  switch (kind) {
    case PickleKind::kNone:
      return "None";
    case PickleKind::kBool:
      return "bool";
    case PickleKind::kInt:
      return "int";
    case PickleKind::kFloat:
      return "float";
    case PickleKind::kString:
      return "str";
    case PickleKind::kTuple:
      return "tuple";
    case PickleKind::kList:
      return "list";
    case PickleKind::kDict:
      return "dict";
    case PickleKind::kGlobal:
      return "class or function";
    case PickleKind::kStorage:
      return "storage";
    case PickleKind::kTensor:
      return "tensor";
  }
  return "unknown value";
}

PickleValues read_pickle(std::span<const std::byte> pickle, const std::string& where) {
  return Machine(pickle, where).run();
}

}  // namespace cantilever
