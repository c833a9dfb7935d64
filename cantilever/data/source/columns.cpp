#include "cantilever/data/source/columns.h"

#include <algorithm>
#include <array>

#include "cantilever/base/error.h"
#include "cantilever/base/log.h"

namespace cantilever {
namespace {

constexpr std::string_view kFileName = "file_name";

// What to pass instead of a column that is not there.
std::string advice(const std::string& flag, const std::string& asked,
                   const std::vector<ColumnInfo>& columns, bool for_picture) {
  std::vector<std::string> names;
  std::vector<std::string> fitting;
  for (const ColumnInfo& column : columns) {
    names.push_back(column.name);
    const bool fits = for_picture ? column.looks_picture : column.text && !column.looks_picture;
    if (fits) fitting.push_back(column.name);
  }
  const bool only_urls = for_picture && fitting.empty() &&
                         std::any_of(names.begin(), names.end(), [](const std::string& name) {
                           return name == "url" || name == "URL" || name == "image_url";
                         });
  if (only_urls) {
    return "; there is no column of pictures, and URLs are not fetched: download them first "
           "(img2dataset does)";
  }
  const std::string nearest = nearest_name(asked, names);
  if (!nearest.empty()) {
    return concat("; did you mean ", quoted(nearest), "? Pass ", flag, " ", nearest);
  }
  if (fitting.size() == 1) return concat("; pass ", flag, " ", fitting.front());
  return concat("; pass the right one with ", flag);
}

size_t find_column(const std::string& file, const std::vector<ColumnInfo>& columns,
                   const std::string& flag, const std::string& name, bool for_picture) {
  const auto named = [&](const ColumnInfo& column) { return column.name == name; };
  const auto found = std::find_if(columns.begin(), columns.end(), named);
  CANTILEVER_CHECK(found != columns.end(), file, ": there is no column ", quoted(name), " (", flag,
                   "); its columns are ", list_columns(columns),
                   advice(flag, name, columns, for_picture));
  CANTILEVER_CHECK(std::count_if(columns.begin(), columns.end(), named) == 1, file,
                   ": more than one column is called ", quoted(name), " (", flag,
                   "); its columns are ", list_columns(columns), "; rename one of them");
  return static_cast<size_t>(found - columns.begin());
}

bool has_column(const std::vector<ColumnInfo>& columns, std::string_view name) {
  return std::any_of(columns.begin(), columns.end(),
                     [&](const ColumnInfo& column) { return column.name == name; });
}

// The name of the only column that `fits`; empty when there is none or more than one.
template <class Fits>
std::string only_column(const std::vector<ColumnInfo>& columns, const Fits& fits) {
  if (std::count_if(columns.begin(), columns.end(), fits) != 1) return "";
  return std::find_if(columns.begin(), columns.end(), fits)->name;
}

// Pictures themselves come before names of files; of several there is no telling.
std::string find_pictures(const std::vector<ColumnInfo>& columns) {
  const std::string stored = only_column(
      columns, [](const ColumnInfo& column) { return column.looks_picture && !column.text; });
  if (!stored.empty()) return stored;
  return only_column(columns, [](const ColumnInfo& column) { return column.looks_picture; });
}

std::string find_captions(const std::vector<ColumnInfo>& columns) {
  constexpr std::array<std::string_view, 7> kNames = {
      "caption", "captions", "text", "sentence", "sentences", "description", "txt"};
  const auto is_text = [](const ColumnInfo& column) {
    return column.text && !column.looks_picture;
  };
  for (const std::string_view name : kNames) {
    const std::string found = only_column(
        columns, [&](const ColumnInfo& column) { return column.name == name && is_text(column); });
    if (!found.empty()) return found;
  }
  return only_column(columns, is_text);
}

// Default names that the table does not have are replaced by what it has.
void find_columns(const std::string& file, const std::vector<ColumnInfo>& columns,
                  TableOptions& options) {
  const auto replace = [&](bool may, std::string& name, const std::string& found) {
    if (!may || found.empty() || has_column(columns, name)) return false;
    name = found;
    return true;
  };
  const bool image =
      replace(options.find_image_column, options.image_column, find_pictures(columns));
  const bool caption =
      replace(options.find_caption_column, options.caption_column, find_captions(columns));
  if (!image && !caption) return;
  warn_once(concat("columns ", options.image_column, " ", options.caption_column),
            concat(file, ": pictures are taken from ", quoted(options.image_column),
                   ", captions from ", quoted(options.caption_column), "; its columns are ",
                   list_columns(columns), "; --image_column and --caption_column choose others"));
}

}  // namespace

std::string presented_name(const std::string& stored, bool image_folder) {
  if (!image_folder) return stored;
  if (stored == kFileName) return "image";
  if (stored.size() > kFileName.size() + 1 && stored.ends_with(concat("_", kFileName))) {
    return stored.substr(0, stored.size() - kFileName.size() - 1);
  }
  return stored;
}

bool named_like_picture(const std::string& name) {
  constexpr std::array<std::string_view, 12> kNames = {
      "image",    "image_path", "img",      "picture", "file_name",  "filename",
      "filepath", "file_path",  "img_path", "path",    "image_file", "picture_path"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

std::string list_columns(const std::vector<ColumnInfo>& columns) {
  constexpr size_t kMost = 60;
  std::string list;
  for (size_t i = 0; i < columns.size() && i < kMost; ++i) {
    const std::string& type = columns[i].type;
    list += concat(i == 0 ? "" : ", ", columns[i].name, " (",
                   type.size() > 100 ? type.substr(0, 97) + "..." : type, ")");
  }
  if (columns.size() > kMost) list += concat(" and ", columns.size() - kMost, " more");
  return list.empty() ? "none" : list;
}

ColumnChoice choose_columns(const std::string& file, const std::vector<ColumnInfo>& columns,
                            TableOptions& options) {
  if (options.seen_columns) *options.seen_columns = columns;
  find_columns(file, columns, options);
  ColumnChoice choice;
  choice.image = find_column(file, columns, "--image_column", options.image_column, true);
  choice.caption = find_column(file, columns, "--caption_column", options.caption_column, false);
  const ColumnInfo& image = columns[choice.image];
  const ColumnInfo& caption = columns[choice.caption];
  CANTILEVER_CHECK(image.picture, file, ": column ", quoted(image.name), " holds ", image.type,
                   ", not pictures (a struct of bytes and path, bytes, or the path as text); ",
                   "choose another one with --image_column among ", list_columns(columns));
  CANTILEVER_CHECK(caption.text, file, ": column ", quoted(caption.name), " holds ", caption.type,
                   ", not texts; choose another one with --caption_column among ",
                   list_columns(columns));
  return choice;
}

}  // namespace cantilever
