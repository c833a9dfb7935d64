#include "cantilever/cli/failure.h"

#include <c10/util/Exception.h>
#include <cxxabi.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <new>
#include <typeinfo>

#include "cantilever/base/error.h"
#include "cantilever/io/json.h"

namespace cantilever {
namespace {

constexpr const char* kSmaller =
    "use a smaller --per_device_train_batch_size (or --per_device_eval_batch_size), or a smaller "
    "model";
constexpr const char* kReport =
    "this is a mistake in the program; please report it with the command";

std::string type_name(const std::type_info& type) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), &std::free);
  return status == 0 ? name.get() : type.name();
}

template <class Exception>
Failure failure(const Exception& error, const std::string& message, int exit_status = 1) {
  return {one_line(message), type_name(typeid(error)), last_throw_stack(), exit_status};
}

Failure torch_failure(const c10::Error& error) {
  const std::string text = error.what_without_backtrace();
  // DefaultCPUAllocator's words; there is no type of its own for it.
  if (text.find("can't allocate memory") != std::string::npos ||
      text.find("not enough memory") != std::string::npos) {
    const size_t size = text.find("you tried to allocate");
    return failure(
        error, concat("out of memory: ", size == std::string::npos ? text : text.substr(size), "; ",
                      kSmaller));
  }
  return failure(error, concat("LibTorch: ", text, "; ", kReport));
}

}  // namespace

std::string one_line(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == ' ' || (byte >= '\t' && byte <= '\r')) {
      if (!out.empty() && out.back() != ' ') out += ' ';
    } else if (byte < 0x20 || byte == 0x7f) {
      char escaped[5];
      std::snprintf(escaped, sizeof escaped, "\\x%02x", byte);
      out += escaped;
    } else {
      out += c;
    }
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

Failure describe_failure(std::exception_ptr exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const UsageError& error) {
    return failure(error, error.what(), 2);
  } catch (const Error& error) {
    return failure(error, error.what());
  } catch (const InternalError& error) {
    return failure(error, concat(error.what(), "; ", kReport));
  } catch (const std::bad_alloc& error) {
    return failure(error, concat("out of memory; ", kSmaller));
  } catch (const c10::Error& error) {
    return torch_failure(error);
  } catch (const std::filesystem::filesystem_error& error) {
    return failure(error,
                   concat("cannot use ", error.path1().string(), ": ", error.code().message()));
  } catch (const Json::exception& error) {
    return failure(error, concat("unexpected JSON: ", error.what(), "; ", kReport));
  } catch (const std::exception& error) {
    return failure(error, concat(type_name(typeid(error)), ": ", error.what(), "; ", kReport));
  } catch (...) {
    return {concat("an exception of no known type; ", kReport), "?", last_throw_stack(), 1};
  }
}

}  // namespace cantilever
