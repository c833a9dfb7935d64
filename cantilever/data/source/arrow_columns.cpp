#include "cantilever/data/source/arrow_columns.h"

#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

#include <algorithm>

#include "cantilever/base/error.h"
#include "cantilever/base/log.h"
#include "cantilever/data/source/arrow_cells.h"
#include "cantilever/io/json.h"

namespace cantilever {
namespace {

// The Image features in the metadata that `datasets` writes into a schema.
std::vector<std::string> schema_features(const arrow::Schema& schema, const std::string& file) {
  if (!schema.metadata()) return {};
  const arrow::Result<std::string> text = schema.metadata()->Get("huggingface");
  if (!text.ok()) return {};
  try {
    return image_features_of(*text, file);
  } catch (const std::exception& error) {
    log_warning(concat(file, ": the 'huggingface' metadata are not as `datasets` writes them (",
                       error.what(), "); the pictures are taken as plain bytes"));
    return {};
  }
}

}  // namespace

std::vector<std::string> image_features_of(const std::string& json, const std::string& file) {
  std::vector<std::string> names;
  Json info = parse_json(json, file);
  if (info.contains("info")) info = Json(info.at("info"));
  const Json features = info.at("features");
  for (const auto& [name, feature] : features.items()) {
    // With decode=False `datasets` hands out what is stored, as if there were no feature.
    if (feature.is_object() && feature.value("_type", Json()) == "Image" &&
        feature.value("decode", Json(true)) != false) {
      names.push_back(name);
    }
  }
  return names;
}

ArrowColumns choose_arrow_columns(const std::string& file, const arrow::Schema& schema,
                                  TableOptions& options,
                                  const std::vector<std::string>& saved_features) {
  std::vector<std::string> features = schema_features(schema, file);
  features.insert(features.end(), saved_features.begin(), saved_features.end());
  const auto is_feature = [&](const std::string& name) {
    return std::find(features.begin(), features.end(), name) != features.end();
  };
  std::vector<ColumnInfo> columns;
  for (const auto& field : schema.fields()) {
    const arrow::DataType& type = *field->type();
    ColumnInfo column;
    column.name = presented_name(field->name(), options.image_folder);
    column.type = type.ToString();
    column.text = holds_text(type) || holds_texts(type);
    column.picture = holds_text(type) || is_picture_struct(type) || holds_bytes(type);
    column.looks_picture = is_picture_struct(type) ||
                           (holds_bytes(type) && type.id() != arrow::Type::FIXED_SIZE_BINARY) ||
                           is_feature(field->name()) || column.name != field->name() ||
                           (holds_text(type) && named_like_picture(field->name()));
    columns.push_back(std::move(column));
  }
  ArrowColumns chosen;
  chosen.choice = choose_columns(file, columns, options);
  const auto& image = schema.field(static_cast<int>(chosen.choice.image));
  const auto& caption = schema.field(static_cast<int>(chosen.choice.caption));
  chosen.image_type = columns[chosen.choice.image].type;
  chosen.caption_type = columns[chosen.choice.caption].type;
  chosen.caption_list = holds_texts(*caption->type());
  if (is_feature(image->name()) || options.image_folder) {
    chosen.image_kind = ImageKind::kImageFeature;
  } else {
    chosen.image_kind = holds_text(*image->type()) ? ImageKind::kPath : ImageKind::kBytes;
  }
  return chosen;
}

std::string describe_columns(const ArrowColumns& columns, const TableOptions& options) {
  const char* kind = columns.image_kind == ImageKind::kImageFeature ? "an Image feature of datasets"
                     : columns.image_kind == ImageKind::kPath       ? "paths"
                                                                    : "bytes";
  return concat("pictures in ", quoted(options.image_column), " as ", columns.image_type, " (",
                kind, "), captions in ", quoted(options.caption_column),
                columns.caption_list ? concat(" as ", columns.caption_type) : "");
}

}  // namespace cantilever
