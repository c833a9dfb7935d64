#include "cantilever/io/torch_zip.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "cantilever/base/error.h"
#include "cantilever/io/torch_archive.h"

namespace cantilever {
namespace {

constexpr size_t kMaxTensors = 250'000;
constexpr size_t kMaxTreeDepth = 64;
constexpr size_t kMaxTreeValues = 250'000;
constexpr size_t kMaxTreeText = size_t{64} << 20;  // bytes of all strings together
constexpr size_t kMaxPath = 512;

std::string list_keys(const PickleValues& values, const PickleNode& dict) {
  std::string text;
  constexpr size_t kShown = 8;
  for (size_t i = 0; i < dict.items.size() && i < 2 * kShown; i += 2) {
    const PickleNode& key = values[dict.items[i]];
    if (i > 0) text += ", ";
    text += key.kind == PickleKind::kString ? quoted(std::string(key.text))
                                            : std::string(kind_name(key.kind));
  }
  return dict.items.size() > 2 * kShown ? text + " ..." : text;
}

class TorchWeights : public WeightFile {
 public:
  explicit TorchWeights(const std::filesystem::path& path) : archive_(path) { read(); }

  const std::vector<TensorView>& tensors() const override { return tensors_; }
  const std::map<std::string, std::string>& metadata() const override { return metadata_; }
  std::string description() const override {
    return concat(archive_.where(), " (torch.save state dict)");
  }

 private:
  void read();

  TorchArchive archive_;
  std::vector<TensorView> tensors_;
  std::map<std::string, std::string> metadata_;  // the format has none
};

void TorchWeights::read() {
  const PickleValues& values = archive_.values();
  const PickleNode& root = values[values.root];
  CANTILEVER_CHECK(root.kind == PickleKind::kDict, archive_.where(), ": holds a ",
                   kind_name(root.kind), ", not a state dict (a dict from name to tensor)");
  CANTILEVER_CHECK(root.items.size() / 2 <= kMaxTensors, archive_.where(), ": ",
                   root.items.size() / 2, " tensors; at most ", kMaxTensors, " are read");
  std::set<std::string_view> seen;
  for (size_t i = 0; i < root.items.size(); i += 2) {
    const PickleNode& key = values[root.items[i]];
    const PickleNode& value = values[root.items[i + 1]];
    CANTILEVER_CHECK(key.kind == PickleKind::kString, archive_.where(),
                     ": not a state dict: a key is of type ", kind_name(key.kind), ", not str");
    CANTILEVER_CHECK(value.kind == PickleKind::kTensor, archive_.where(),
                     ": not a bare state dict: the value of ", quoted(std::string(key.text)),
                     " is a ", kind_name(value.kind),
                     ", not a tensor (keys: ", list_keys(values, root),
                     "). If it is a training checkpoint, save the state dict inside it alone");
    CANTILEVER_CHECK(seen.insert(key.text).second, archive_.where(), ": tensor ",
                     quoted(std::string(key.text)), " stands twice in the state dict");
    tensors_.push_back(archive_.tensor(value, std::string(key.text)));
  }
  std::sort(tensors_.begin(), tensors_.end(),
            [](const TensorView& a, const TensorView& b) { return a.name < b.name; });
}

class TorchTree : public TorchFile {
 public:
  explicit TorchTree(const std::filesystem::path& path) : archive_(path) {
    root_ = expand(archive_.values().root, "", 0);
  }

  const TorchValue& root() const override { return root_; }

 private:
  using Kind = TorchValue::Kind;

  TorchValue expand(uint32_t index, const std::string& name, size_t depth);
  void expand_dict(const PickleNode& node, const std::string& name, size_t depth,
                   TorchValue& value);

  TorchArchive archive_;
  TorchValue root_;
  size_t count_ = 0;
  size_t text_bytes_ = 0;
};

std::string child_name(const std::string& parent, const std::string& child) {
  return parent.empty() ? child : concat(parent, ".", child);
}

// A shared value is repeated in the tree; the limits end what a cycle or a chain of lists that hold
// the same list twice would become.
TorchValue TorchTree::expand(uint32_t index, const std::string& name, size_t depth) {
  const PickleNode& node = archive_.values()[index];
  CANTILEVER_CHECK(depth <= kMaxTreeDepth, archive_.where(), ": values nested more than ",
                   kMaxTreeDepth, " deep, or within themselves, at ", quoted(name));
  CANTILEVER_CHECK(++count_ <= kMaxTreeValues, archive_.where(), ": more than ", kMaxTreeValues,
                   " values, at ", quoted(name));
  CANTILEVER_CHECK(name.size() <= kMaxPath, archive_.where(),
                   ": the path to a value is longer than ", kMaxPath, " bytes: ", quoted(name));
  text_bytes_ += node.text.size();
  CANTILEVER_CHECK(text_bytes_ <= kMaxTreeText, archive_.where(), ": more than ", kMaxTreeText,
                   " bytes of text, at ", quoted(name));
  TorchValue value;
  value.integer = node.integer;
  value.number = node.number;
  switch (node.kind) {
    case PickleKind::kNone:
      break;
    case PickleKind::kBool:
      value.kind = Kind::kBool;
      break;
    case PickleKind::kInt:
      value.kind = Kind::kInt;
      break;
    case PickleKind::kFloat:
      value.kind = Kind::kFloat;
      break;
    case PickleKind::kString:
      value.kind = Kind::kString;
      value.text = node.text;
      break;
    case PickleKind::kTuple:
    case PickleKind::kList:
      value.kind = node.kind == PickleKind::kTuple ? Kind::kTuple : Kind::kList;
      for (size_t i = 0; i < node.items.size(); ++i) {
        value.items.push_back(
            expand(node.items[i], child_name(name, std::to_string(i)), depth + 1));
      }
      break;
    case PickleKind::kDict:
      value.kind = Kind::kDict;
      expand_dict(node, name, depth, value);
      break;
    case PickleKind::kTensor:
      value.kind = Kind::kTensor;
      value.tensor = archive_.tensor(node, name);
      break;
    case PickleKind::kGlobal:
    case PickleKind::kStorage:
      throw_error(concat(archive_.where(), ": ", quoted(name), " is a ", kind_name(node.kind), " (",
                         quoted(std::string(node.text)), "), which is not a plain value"));
  }
  return value;
}

void TorchTree::expand_dict(const PickleNode& node, const std::string& name, size_t depth,
                            TorchValue& value) {
  std::set<std::pair<std::string, int64_t>> seen;
  for (size_t i = 0; i < node.items.size(); i += 2) {
    TorchValue key = expand(node.items[i], child_name(name, "(key)"), depth + 1);
    CANTILEVER_CHECK(key.kind == Kind::kString || key.kind == Kind::kInt, archive_.where(),
                     ": a key of the dict ", quoted(name), " is a ",
                     kind_name(archive_.values()[node.items[i]].kind), ", not a str or int");
    const std::string shown = key.kind == Kind::kString ? key.text : std::to_string(key.integer);
    const int64_t number = key.kind == Kind::kInt ? 1 : 0;
    CANTILEVER_CHECK(seen.emplace(shown, number).second, archive_.where(), ": the key ",
                     quoted(shown), " stands twice in the dict ", quoted(name));
    value.items.push_back(expand(node.items[i + 1], child_name(name, shown), depth + 1));
    value.keys.push_back(std::move(key));
  }
}

}  // namespace

const TorchValue* TorchValue::find(std::string_view key) const {
  for (size_t i = 0; i < keys.size(); ++i) {
    if (keys[i].kind == Kind::kString && keys[i].text == key) return &items[i];
  }
  return nullptr;
}

const TorchValue* TorchValue::find(int64_t key) const {
  for (size_t i = 0; i < keys.size(); ++i) {
    if (keys[i].kind == Kind::kInt && keys[i].integer == key) return &items[i];
  }
  return nullptr;
}

std::unique_ptr<WeightFile> open_torch_zip(const std::filesystem::path& path) {
  return std::make_unique<TorchWeights>(path);
}

std::unique_ptr<TorchFile> open_torch_value(const std::filesystem::path& path) {
  return std::make_unique<TorchTree>(path);
}

}  // namespace cantilever
