#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "cantilever/base/error.h"
#include "cantilever/io/json.h"

namespace cantilever {
namespace json_detail {

template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};

template <class T>
bool read_integer(const Json& value, T& out) {
  if (value.is_number_float()) {
    const double number = value.template get<double>();
    // The largest range in which every double is an exact int64_t.
    if (!(std::abs(number) <= 0x1p53) || number != std::floor(number)) return false;
    const auto whole = static_cast<int64_t>(number);
    if (!std::in_range<T>(whole)) return false;
    out = static_cast<T>(whole);
    return true;
  }
  if (!value.is_number_integer()) return false;
  const bool fits = value.is_number_unsigned() ? std::in_range<T>(value.template get<uint64_t>())
                                               : std::in_range<T>(value.template get<int64_t>());
  if (fits) out = value.template get<T>();
  return fits;
}

// nlohmann's own get<T>() cuts 1.5 to 1, wraps 2^40 and takes true for 1; hence the checks.
template <class T>
bool read_as(const Json& value, T& out) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    return read_integer(value, out);
  } else if constexpr (std::is_floating_point_v<T>) {
    if (!value.is_number()) return false;
    out = value.template get<T>();
    return true;
  } else if constexpr (IsVector<T>::value) {
    if (!value.is_array()) return false;
    out.clear();
    for (const Json& item : value) {
      typename T::value_type converted{};
      if (!read_as(item, converted)) return false;
      out.push_back(std::move(converted));
    }
    return true;
  } else {
    try {
      out = value.template get<T>();
      return true;
    } catch (const nlohmann::json::exception&) {
      return false;
    }
  }
}

}  // namespace json_detail

template <class T>
T json_value(const Json& object, const std::string& key, const T& fallback,
             const std::string& where) {
  CANTILEVER_CHECK(object.is_object(), where, ": a JSON object with the key ", quoted(key),
                   " should stand here, not ", object.type_name());
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return fallback;
  T value{};
  CANTILEVER_CHECK(json_detail::read_as(*found, value), where, ": the value of ", quoted(key),
                   " is ", quoted(dump_json(*found, -1)), " (", found->type_name(),
                   "), which is not of the type and range it should have");
  return value;
}

}  // namespace cantilever
