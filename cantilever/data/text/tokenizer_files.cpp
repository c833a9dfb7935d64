#include "cantilever/data/text/tokenizer_files.h"

#include <span>
#include <string_view>
#include <utility>

#include "cantilever/base/error.h"
#include "cantilever/base/file.h"
#include "cantilever/data/text/tokenizer_json.h"

namespace cantilever {
namespace {

namespace fs = std::filesystem;

std::string read_text_file(const fs::path& path) {
  std::string text = read_file(path);
  const std::string pointer = describe_lfs_pointer(std::as_bytes(std::span(text)));
  CANTILEVER_CHECK(pointer.empty(), path.string(), ": ", pointer);
  return text;
}

bool is_there(const fs::path& path) {
  std::error_code ignored;  // what cannot be looked at is reported when it is read
  return fs::exists(path, ignored);
}

// Null when the file does not exist.
Json read_optional_object(const fs::path& path) {
  if (!is_there(path)) return nullptr;
  Json object = parse_json(read_text_file(path), path.string(), DuplicateKeys::kRefuse);
  CANTILEVER_CHECK(object.is_object(), path.string(), ": holds ", object.type_name(),
                   " instead of an object");
  return object;
}

// Of one file: "bos_token": "<s>" or {"content": "<s>", "lstrip": false, ...} or null.
void read_named(const Json& object, const std::string& where, const char* key,
                NamedSpecial* named) {
  if (!object.is_object()) return;
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return;
  named->in_files = true;
  if (found->is_string()) {
    named->content = found->get<std::string>();
    return;
  }
  const std::string place = concat(where, ": ", key);
  CANTILEVER_CHECK(found->is_object(), place, " is ", found->type_name(),
                   "; it should be a string or an object with content");
  named->content = json_value(*found, "content", std::string(), place);
  CANTILEVER_CHECK(!named->content.empty(), place, " has no content");
  named->lstrip = json_value(*found, "lstrip", false, place);
  named->rstrip = json_value(*found, "rstrip", false, place);
  named->normalized = json_value(*found, "normalized", false, place);
}

void read_all_named(const Json& object, const std::string& where, TokenizerParts* parts) {
  read_named(object, where, "bos_token", &parts->bos);
  read_named(object, where, "eos_token", &parts->eos);
  read_named(object, where, "cls_token", &parts->cls);
  read_named(object, where, "sep_token", &parts->sep);
  read_named(object, where, "pad_token", &parts->pad);
  read_named(object, where, "unk_token", &parts->unk);
  read_named(object, where, "mask_token", &parts->mask);
}

void read_merges_file(const fs::path& path, TokenizerParts* parts) {
  const std::string text = read_text_file(path);
  size_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = text.find('\n', begin);
    if (end == std::string::npos) end = text.size();
    std::string_view line(text.data() + begin, end - begin);
    begin = end + 1;
    ++number;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.empty() || line.starts_with("#version")) continue;
    parts->merges.push_back(split_merge(line, concat(path.string(), ": line ", number)));
  }
}

// tokenizer_config.json of Transformers 4.34 and later lists all added tokens by id;
// added_tokens.json is the older form, for tokens behind the vocabulary.
void read_added_beside_vocab(const fs::path& folder, TokenizerParts* parts) {
  if (parts->config.is_object() && parts->config.contains("added_tokens_decoder")) {
    const std::string where = (folder / "tokenizer_config.json").string();
    const Json& decoder = parts->config["added_tokens_decoder"];
    CANTILEVER_CHECK(decoder.is_object(), where, ": added_tokens_decoder is ", decoder.type_name(),
                     " instead of an object");
    for (const auto& [id, token] : decoder.get_ref<const Json::object_t&>()) {
      parts->added.push_back(read_added_token(token, parse_id(id, where), where));
    }
    return;
  }
  const fs::path path = folder / "added_tokens.json";
  const Json added = read_optional_object(path);
  if (added.is_null()) return;
  for (const auto& [content, id] : added.get_ref<const Json::object_t&>()) {
    AddedToken token;
    token.id = static_cast<int32_t>(checked_id(id, content, path.string()));
    token.content = content;
    parts->added.push_back(std::move(token));
  }
}

void read_vocab_and_merges(const fs::path& folder, TokenizerParts* parts) {
  const fs::path vocab = folder / "vocab.json";
  Json object = read_optional_object(vocab);
  read_vocabulary(object, vocab.string(), parts);
  read_merges_file(folder / "merges.txt", parts);
  read_added_beside_vocab(folder, parts);
  if (parts->config.is_object()) {
    parts->add_prefix_space = json_value(parts->config, "add_prefix_space", false, parts->where);
  }
}

}  // namespace

TokenizerParts read_tokenizer_files(const fs::path& folder) {
  std::error_code ignored;
  CANTILEVER_CHECK(fs::is_directory(folder, ignored), folder.string(),
                   ": not a folder; give one with tokenizer.json, or vocab.json and merges.txt");
  TokenizerParts parts;
  const fs::path json = folder / "tokenizer.json";
  const bool has_json = is_there(json);
  CANTILEVER_CHECK(has_json || (is_there(folder / "vocab.json") && is_there(folder / "merges.txt")),
                   folder.string(), ": has neither tokenizer.json nor vocab.json with merges.txt");
  parts.where = has_json ? json.string() : folder.string();
  parts.config = read_optional_object(folder / "tokenizer_config.json");
  parts.special_map = read_optional_object(folder / "special_tokens_map.json");
  // As Transformers 5.24 builds <mask> when no file says how; see README.md of this room.
  parts.mask.lstrip = !has_json;
  read_all_named(parts.config, (folder / "tokenizer_config.json").string(), &parts);
  read_all_named(parts.special_map, (folder / "special_tokens_map.json").string(), &parts);
  if (has_json) {
    read_tokenizer_json(parse_json(read_text_file(json), json.string(), DuplicateKeys::kRefuse),
                        &parts);
  } else {
    read_vocab_and_merges(folder, &parts);
  }
  return parts;
}

}  // namespace cantilever
