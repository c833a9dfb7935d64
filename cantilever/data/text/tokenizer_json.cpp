#include "cantilever/data/text/tokenizer_json.h"

#include <charconv>
#include <limits>

#include "cantilever/base/error.h"

namespace cantilever {
namespace {

constexpr int64_t kMaxId = std::numeric_limits<int32_t>::max();

const Json& member(const Json& object, const char* key) {
  static const Json null;
  const auto found = object.find(key);
  return found == object.end() ? null : *found;
}

std::string type_of(const Json& object, const std::string& where) {
  return json_value(object, "type", std::string(), where);
}

void refuse(bool refused, const std::string& where, const char* setting, const Json& value) {
  CANTILEVER_CHECK(!refused, where, ": ", setting, " is ",
                   quoted(value.dump(-1, ' ', false, Json::error_handler_t::replace)),
                   ", which RoBERTa's tokenizer does not have and this program does not know");
}

bool is_null_or_empty(const Json& value) {
  return value.is_null() || (value.is_string() && value.get_ref<const std::string&>().empty());
}

void read_model(Json& model, const std::string& where, TokenizerParts* parts) {
  CANTILEVER_CHECK(model.is_object(), where, ": has no model");
  const Json& type = member(model, "type");
  CANTILEVER_CHECK(type.is_null() || type == "BPE", where, ": the model is of type ",
                   quoted(type.dump(-1, ' ', false, Json::error_handler_t::replace)),
                   "; RoBERTa's tokenizer is a byte-level \"BPE\"");
  const Json& dropout = member(model, "dropout");
  refuse(!dropout.is_null() && dropout != 0.0, where, "model.dropout", dropout);
  const Json& prefix = member(model, "continuing_subword_prefix");
  refuse(!is_null_or_empty(prefix), where, "model.continuing_subword_prefix", prefix);
  const Json& suffix = member(model, "end_of_word_suffix");
  refuse(!is_null_or_empty(suffix), where, "model.end_of_word_suffix", suffix);
  const Json& fallback = member(model, "byte_fallback");
  refuse(!fallback.is_null() && fallback != false, where, "model.byte_fallback", fallback);
  parts->unk_piece = json_value(model, "unk_token", std::string(), where);
  parts->fuse_unk = json_value(model, "fuse_unk", false, where);
  parts->ignore_merges = json_value(model, "ignore_merges", false, where);

  const auto vocab = model.find("vocab");
  CANTILEVER_CHECK(vocab != model.end(), where, ": model.vocab is missing");
  read_vocabulary(*vocab, where, parts);
  const auto merges = model.find("merges");
  CANTILEVER_CHECK(merges != model.end() && merges->is_array(), where,
                   ": model.merges is missing or not an array");
  size_t number = 0;
  for (const Json& merge : *merges) {
    const std::string place = concat(where, ": model.merges, entry ", ++number);
    if (merge.is_string()) {
      parts->merges_as_text = true;
      parts->merges.push_back(split_merge(merge.get_ref<const std::string&>(), place));
      continue;
    }
    CANTILEVER_CHECK(
        merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string(),
        place, ": should be \"a b\" or [\"a\", \"b\"]");
    parts->merges.emplace_back(merge[0].get<std::string>(), merge[1].get<std::string>());
  }
  *merges = Json::array();
}

void read_pre_tokenizer(const Json& splitter, const std::string& where, TokenizerParts* parts) {
  CANTILEVER_CHECK(splitter.is_object() && type_of(splitter, where) == "ByteLevel", where,
                   ": pre_tokenizer should be of type \"ByteLevel\", it is ",
                   quoted(splitter.dump(-1, ' ', false, Json::error_handler_t::replace)));
  const bool pattern = json_value(splitter, "use_regex", true, where);
  refuse(!pattern, where, "pre_tokenizer.use_regex", member(splitter, "use_regex"));
  parts->add_prefix_space = json_value(splitter, "add_prefix_space", true, where);
}

void read_added_tokens(const Json& tokens, const std::string& where, TokenizerParts* parts) {
  if (tokens.is_null()) return;
  CANTILEVER_CHECK(tokens.is_array(), where, ": added_tokens is ", tokens.type_name(),
                   " instead of an array");
  for (const Json& token : tokens) {
    CANTILEVER_CHECK(token.is_object(), where, ": an added token is ", token.type_name(),
                     " instead of an object");
    const int64_t id = checked_id(member(token, "id"), "(added token)", where);
    parts->added.push_back(read_added_token(token, id, where));
  }
}

std::string special_of_template(const Json& item, const std::string& where) {
  const Json& special = item.is_object() ? member(item, "SpecialToken") : item;
  CANTILEVER_CHECK(
      special.is_object(), where,
      ": post_processor.single should be one special token, the text A and one special "
      "token, as in <s> A </s>");
  return json_value(special, "id", std::string(), where);
}

// Which tokens stand before and after the text.
void read_post_processor(const Json& processor, const std::string& where, TokenizerParts* parts) {
  CANTILEVER_CHECK(processor.is_object(), where,
                   ": has no post_processor, so no <s> and </s> would be put around a text");
  const std::string type = type_of(processor, where);
  if (type == "RobertaProcessing") {
    for (const auto& [key, named] : {std::pair{"cls", &parts->cls}, {"sep", &parts->sep}}) {
      const Json& pair = member(processor, key);
      CANTILEVER_CHECK(pair.is_array() && pair.size() == 2 && pair[0].is_string(), where,
                       ": post_processor.", key, " should be [\"<s>\", 0] or the like");
      named->content = pair[0].get<std::string>();
    }
    return;
  }
  if (type == "TemplateProcessing") {
    const Json& single = member(processor, "single");
    CANTILEVER_CHECK(single.is_array() && single.size() == 3 && single[1].is_object() &&
                         single[1].contains("Sequence"),
                     where,
                     ": post_processor.single should be one special token, the text A and one "
                     "special token, as in <s> A </s>");
    parts->cls.content = special_of_template(single[0], where);
    parts->sep.content = special_of_template(single[2], where);
    return;
  }
  throw_error(concat(where, ": post_processor is of type ", quoted(type),
                     "; known are \"RobertaProcessing\" and \"TemplateProcessing\""));
}

// Transformers rebuilds splitter and post-processor from tokenizer_config.json when that names
// RoBERTa's class; only without it do those of tokenizer.json count (tried with 5.24).
bool config_names_roberta(const TokenizerParts& parts) {
  if (!parts.config.is_object()) return false;
  const Json& name = member(parts.config, "tokenizer_class");
  return name.is_string() && name.get_ref<const std::string&>().starts_with("RobertaTokenizer");
}

}  // namespace

int64_t checked_id(const Json& value, const std::string& piece, const std::string& where) {
  const bool whole =
      value.is_number_unsigned() || (value.is_number_integer() && value.get<int64_t>() >= 0);
  CANTILEVER_CHECK(whole && value.get<uint64_t>() <= static_cast<uint64_t>(kMaxId), where,
                   ": the id of ", quoted(piece), " is ",
                   quoted(value.dump(-1, ' ', false, Json::error_handler_t::replace)),
                   "; ids are whole numbers from 0 to ", kMaxId);
  return value.get<int64_t>();
}

int64_t parse_id(const std::string& text, const std::string& where) {
  int32_t id = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  CANTILEVER_CHECK(error == std::errc() && end == text.data() + text.size() && id >= 0, where, ": ",
                   quoted(text), " is not an id");
  return id;
}

void read_vocabulary(Json& object, const std::string& where, TokenizerParts* parts) {
  CANTILEVER_CHECK(object.is_object(), where, ": the vocabulary is ", object.type_name(),
                   " instead of an object of pieces and ids");
  for (const auto& [piece, id] : object.get_ref<const Json::object_t&>()) {
    parts->vocab.emplace_back(piece, checked_id(id, piece, where));
  }
  object = Json::object();
}

AddedToken read_added_token(const Json& token, int64_t id, const std::string& where) {
  CANTILEVER_CHECK(token.is_object(), where, ": added token ", id, " is ", token.type_name(),
                   " instead of an object");
  AddedToken added;
  added.id = static_cast<int32_t>(id);
  added.content = json_value(token, "content", std::string(), where);
  added.lstrip = json_value(token, "lstrip", false, where);
  added.rstrip = json_value(token, "rstrip", false, where);
  added.normalized = json_value(token, "normalized", false, where);
  added.special = json_value(token, "special", false, where);
  CANTILEVER_CHECK(!json_value(token, "single_word", false, where), where, ": added token ",
                   quoted(added.content),
                   " is to be found as a single word only, which this program does not know");
  return added;
}

std::pair<std::string, std::string> split_merge(std::string_view line, const std::string& where) {
  const size_t blank = line.find(' ');
  CANTILEVER_CHECK(blank != std::string_view::npos && blank > 0 && blank + 1 < line.size() &&
                       line.find(' ', blank + 1) == std::string_view::npos,
                   where, ": ", quoted(std::string(line)),
                   " is not a merge, which is two pieces with one blank between them");
  return {std::string(line.substr(0, blank)), std::string(line.substr(blank + 1))};
}

void read_tokenizer_json(Json document, TokenizerParts* parts) {
  const std::string& where = parts->where;
  CANTILEVER_CHECK(document.is_object(), where, ": holds ", document.type_name(),
                   " instead of an object");
  const auto model = document.find("model");
  CANTILEVER_CHECK(model != document.end(), where, ": has no model");
  read_model(*model, where, parts);
  const Json& normalizer = member(document, "normalizer");
  refuse(!normalizer.is_null(), where, "normalizer", normalizer);
  read_added_tokens(member(document, "added_tokens"), where, parts);
  read_pre_tokenizer(member(document, "pre_tokenizer"), where, parts);
  if (config_names_roberta(*parts)) {
    parts->add_prefix_space = json_value(parts->config, "add_prefix_space", false, where);
  } else {
    read_post_processor(member(document, "post_processor"), where, parts);
  }
  const Json& padding = member(document, "padding");
  if (!parts->pad.in_files && padding.is_object()) {
    parts->pad.content = json_value(padding, "pad_token", parts->pad.content, where);
  }
  parts->document = std::move(document);
}

}  // namespace cantilever
