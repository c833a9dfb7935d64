#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cantilever {

// The values of a pickle that torch.save wrote, as nodes that refer to each other by number. A
// pickle may refer to one value many times and build cycles; numbers keep that finite, and nothing
// here walks it recursively. Used by the .cpp files of this room only.
enum class PickleKind : uint8_t {
  kNone,
  kBool,     // integer: 0 or 1
  kInt,      // integer
  kFloat,    // number
  kString,   // text
  kTuple,    // items
  kList,     // items
  kDict,     // items: key, value, key, value ...
  kGlobal,   // integer: a PickleGlobal; text: its name, without the module
  kStorage,  // items: storage type, key, location, number of elements (all checked)
  kTensor,   // items: storage, offset, size, stride, dtype (a global, or the storage's type)
};

enum class PickleGlobal : uint8_t {
  kOrderedDict,
  kRebuildTensor,
  kRebuildTensorV2,
  kRebuildTensorV3,
  kRebuildParameter,
  kRebuildParameterWithState,
  kSize,
  kStorageType,  // torch.FloatStorage and so on
  kDType,        // torch.float32 and so on
};

struct PickleNode {
  PickleKind kind = PickleKind::kNone;
  int64_t integer = 0;
  double number = 0;
  std::string_view text;  // points into the pickle
  std::vector<uint32_t> items;
};

struct PickleValues {
  std::vector<PickleNode> nodes;
  uint32_t root = 0;

  const PickleNode& operator[](uint32_t index) const { return nodes[index]; }
};

const char* kind_name(PickleKind kind);

// Interprets the opcodes of protocols 2 to 5 that a pickle of plain values and tensors needs. No
// name in the pickle is ever looked up, imported or called: the globals above are recognised by
// their spelling, everything else is an Error that says module.name and where it stands. The size
// of the pickle, the values and the open marks are limited, so that memory stays in proportion.
PickleValues read_pickle(std::span<const std::byte> pickle, const std::string& where);

}  // namespace cantilever
