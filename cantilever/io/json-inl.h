#pragma once

#include "cantilever/base/error.h"
#include "cantilever/io/json.h"

namespace cantilever {

template <class T>
T json_value(const Json& object, const std::string& key, const T& fallback,
             const std::string& where) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return fallback;
  try {
    return found->template get<T>();
  } catch (const nlohmann::json::exception&) {
    throw_error(concat(where, ": the value of ", quoted(key), " is ", quoted(found->dump()),
                       " (", found->type_name(), "), which is not of the type it should have"));
  }
}

}  // namespace cantilever
