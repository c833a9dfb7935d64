// Encodes lines for the comparison with the `tokenizers` library (tools/parity/tokenizer_parity.py
// and tokenizer_speed.py).
//
//   tokenizer_encode_lines FOLDER [--hex] [--max-length N] [--repeat N]
//       standard input: a JSON string a line, or with --hex the bytes of a text in hexadecimal;
//       standard output: a JSON list of ids a line. With --repeat the texts are encoded N times,
//       and one line with the seconds of each time is written instead.
//   tokenizer_encode_lines --train SIZE OUT
//       learns a vocabulary from the JSON strings and saves it to the folder OUT.
//   tokenizer_encode_lines FOLDER --save OUT [--max-length N]

#include <charconv>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "cantilever/base/error.h"
#include "cantilever/data/text/bpe_trainer.h"
#include "cantilever/data/text/tokenizer.h"
#include "cantilever/io/json.h"

namespace {

using cantilever::Tokenizer;

struct Options {
  std::string folder;
  std::string out;
  bool hex = false;
  int64_t train = 0;
  int64_t max_length = 0;
  int64_t repeat = 0;
};

int64_t number(const std::string& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  CANTILEVER_CHECK(error == std::errc() && *end == '\0', cantilever::quoted(text),
                   " is not a number");
  return value;
}

Options read_options(const std::vector<std::string>& words) {
  Options options;
  for (size_t i = 0; i < words.size(); ++i) {
    const auto value = [&]() -> const std::string& {
      CANTILEVER_CHECK(i + 1 < words.size(), words[i], " needs a value");
      return words[++i];
    };
    if (words[i] == "--hex") {
      options.hex = true;
    } else if (words[i] == "--max-length") {
      options.max_length = number(value());
    } else if (words[i] == "--repeat") {
      options.repeat = number(value());
    } else if (words[i] == "--save") {
      options.out = value();
    } else if (words[i] == "--train") {
      options.train = number(value());
      options.out = value();
    } else {
      options.folder = words[i];
    }
  }
  return options;
}

std::string from_hex(const std::string& line) {
  std::string bytes;
  for (size_t i = 0; i + 1 < line.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(line.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

std::optional<std::string> next_text(bool hex) {
  std::string line;
  if (!std::getline(std::cin, line)) return std::nullopt;
  if (hex) return from_hex(line);
  return cantilever::parse_json(line, "standard input").get<std::string>();
}

void print_ids(const std::vector<int32_t>& ids) {
  std::string line = "[";
  for (size_t i = 0; i < ids.size(); ++i) {
    if (i > 0) line += ", ";
    line += std::to_string(ids[i]);
  }
  line += "]\n";
  std::fwrite(line.data(), 1, line.size(), stdout);
}

void measure(const Tokenizer& tokenizer, const Options& options) {
  std::vector<std::string> texts;
  while (auto text = next_text(options.hex)) texts.push_back(std::move(*text));
  std::string line = "[";
  size_t total = 0;
  for (int64_t i = 0; i < options.repeat; ++i) {
    const auto start = std::chrono::steady_clock::now();
    for (const std::string& text : texts) {
      total += tokenizer.encode(text, options.max_length).size();
    }
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    line += (i > 0 ? ", " : "") + std::to_string(taken.count());
  }
  std::printf("%s]\n", line.c_str());
  std::fprintf(stderr, "%zu ids\n", total);
}

void run(const Options& options) {
  if (options.train > 0) {
    const auto next = [&options] { return next_text(options.hex); };
    cantilever::train_tokenizer(next, options.train)->save(options.out);
    return;
  }
  const auto tokenizer = Tokenizer::from_folder(options.folder);
  if (!options.out.empty()) {
    tokenizer->save(options.out, options.max_length);
  } else if (options.repeat > 0) {
    measure(*tokenizer, options);
  } else {
    while (const auto text = next_text(options.hex)) {
      print_ids(tokenizer->encode(*text, options.max_length));
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(read_options({argv + 1, argv + argc}));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
  return 0;
}
