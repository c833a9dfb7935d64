#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace cantilever {

// A column as its table has it.
struct ColumnInfo {
  std::string name;            // as the user must spell it
  std::string type;            // as its format names it, for messages
  bool text = false;           // can be a caption (a list of texts can: several captions)
  bool picture = false;        // can be a picture (a text can, as a path)
  bool looks_picture = false;  // is surely meant as one: by type or by name
};

// How one table is read; made by open_source from what the user asked for.
struct TableOptions {
  std::string image_column;
  std::string caption_column;
  // The names are only defaults: where a table has no such column, choose_columns finds another.
  bool find_image_column = false;
  bool find_caption_column = false;
  // Where relative picture paths start; empty: the folder of the table.
  std::filesystem::path image_root;
  // The folder of the set that the table was found in; empty: the user named the table itself.
  std::filesystem::path set_folder;
  // Pictures must lie below the image root, else the set's folder, else the table's folder.
  bool confine = true;
  // The table is the metadata file of an image folder: its column "file_name" is the picture
  // "image"
  // ("x_file_name" is "x"), as `datasets` names them, and pictures count as decoded by `datasets`.
  bool image_folder = false;
  // Where choose_columns leaves all columns of the table, when somebody wants to know them.
  std::shared_ptr<std::vector<ColumnInfo>> seen_columns;
};

struct ColumnChoice {
  size_t image = 0;
  size_t caption = 0;
};

// The name a stored column goes by: its own, or in an image folder "image" for "file_name".
std::string presented_name(const std::string& stored, bool image_folder);

// Whether a column of texts is called like a path to a picture.
bool named_like_picture(const std::string& name);

// "image (struct<bytes: binary, path: string>), caption (string)"
std::string list_columns(const std::vector<ColumnInfo>& columns);

// The places of the two columns that `options` asks for. A default name that is not there gives way
// to the only column of pictures, and to the column called like captions are or else the only one
// of texts: `options` then names what was found, and the log says so. Throws Error when a column is
// missing, there twice, or of a type that cannot serve: all columns with types, the file, the
// nearest name.
ColumnChoice choose_columns(const std::string& file, const std::vector<ColumnInfo>& columns,
                            TableOptions& options);

}  // namespace cantilever
