#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace cantilever {

// A table of a FlatBuffer, read with every step checked against the bytes. A damaged or missing
// field reads as absent.
class FlatTable {
 public:
  // The table that `bytes` start with an offset to.
  static std::optional<FlatTable> root(std::span<const std::byte> bytes) { return at(bytes, 0); }

  // A number that lies in the table itself.
  template <class T>
  T number(int field, T fallback) const {
    const size_t place = field_place(field);
    return place == 0 ? fallback : load<T>(bytes_, place).value_or(fallback);
  }

  std::optional<FlatTable> table(int field) const {
    const size_t place = field_place(field);
    return place == 0 ? std::nullopt : at(bytes_, place);
  }

  // Where the structs of a vector lie (`size` bytes each) and how many there are.
  std::span<const std::byte> structs(int field, size_t size) const {
    const size_t place = field_place(field);
    if (place == 0) return {};
    const auto step = load<uint32_t>(bytes_, place);
    if (!step || *step > bytes_.size() - place) return {};
    const size_t vector = place + *step;
    const auto count = load<uint32_t>(bytes_, vector);
    if (!count || *count > (bytes_.size() - vector - 4) / size) return {};
    return bytes_.subspan(vector + 4, *count * size);
  }

  template <class T>
  static std::optional<T> load(std::span<const std::byte> bytes, size_t at) {
    if (at > bytes.size() || bytes.size() - at < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof(T));
    return value;
  }

 private:
  FlatTable(std::span<const std::byte> bytes, size_t table, size_t vtable, size_t vtable_bytes)
      : bytes_(bytes), table_(table), vtable_(vtable), vtable_bytes_(vtable_bytes) {}

  // The table that the offset at `place` leads to.
  static std::optional<FlatTable> at(std::span<const std::byte> bytes, size_t place) {
    const auto step = load<uint32_t>(bytes, place);
    if (!step || *step > bytes.size() - place) return std::nullopt;
    const size_t table = place + *step;
    const auto back = load<int32_t>(bytes, table);
    if (!back) return std::nullopt;
    const int64_t vtable = static_cast<int64_t>(table) - *back;
    if (vtable < 0) return std::nullopt;
    const auto size = load<uint16_t>(bytes, static_cast<size_t>(vtable));
    if (!size || *size < 4 || *size > bytes.size() - static_cast<size_t>(vtable)) {
      return std::nullopt;
    }
    return FlatTable(bytes, table, static_cast<size_t>(vtable), *size);
  }

  // 0: the field is absent.
  size_t field_place(int field) const {
    const size_t entry = 4 + 2 * static_cast<size_t>(field);
    if (entry + 2 > vtable_bytes_) return 0;
    const auto step = load<uint16_t>(bytes_, vtable_ + entry);
    return !step || *step == 0 ? 0 : table_ + *step;
  }

  std::span<const std::byte> bytes_;
  size_t table_;
  size_t vtable_;
  size_t vtable_bytes_;
};

}  // namespace cantilever
