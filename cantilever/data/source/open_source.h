#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cantilever/data/source/columns.h"
#include "cantilever/data/source/example_source.h"

namespace cantilever {

// Which captions of a row that has several become pairs. kAuto: all where the set counts a caption
// as a row of its own (COCO, Flickr8k), else the first. kFirst and kRandom keep one row a picture
// (which caption is drawn is said by ExampleSource::read's `draw`); kAll makes one row a caption.
enum class CaptionChoice { kAuto, kFirst, kRandom, kAll };
CaptionChoice parse_caption_choice(const std::string& name);  // "auto", "first", "random", "all"

// Where the pairs are; names as run_bridgetower.py's data arguments. Empty: not given.
struct SourceOptions {
  std::string dataset_name;  // a folder or file (hub names come with a later issue: a named error)
  std::string dataset_config_name;
  std::string data_dir;
  std::string train_file, validation_file, test_file;
  std::string train_dir, validation_dir;
  std::string image_root;  // where relative picture paths start; default: the data file's folder
  std::string image_column = "image_path";
  std::string caption_column = "caption";
  // Whether these names are defaults that nobody asked for: a table without them is looked through
  // for a column of pictures and one of captions, and the log says what was found.
  bool find_image_column = false;
  bool find_caption_column = false;
  CaptionChoice caption_choice = CaptionChoice::kAuto;
  // Pictures may lie outside the set's folder (the data file's, or image_root): absolute paths,
  // "..", links that lead out. Otherwise such a row is an Error.
  bool allow_outside_paths = false;
  bool script_splits = false;  // cut train 60/20/20 whenever test is missing, as the script does
  uint64_t seed = 42;          // of that cut
};

// The splits by name ("train", "validation", "test"). Given splits are used as they are; a set with
// neither validation nor test is cut 60/20/20 with numpy's default_rng(seed).permutation, and the
// log says so. Throws Error: nothing given, format unknown (with the list of those read), column
// missing (all columns with types, the file, the nearest name), no rows.
std::map<std::string, std::shared_ptr<ExampleSource>> open_splits(const SourceOptions& options);

// One file or folder as one split. A file may be several: braces (shards/{00000..00009}.tar),
// wildcards in its name, and "::" between them are understood.
std::shared_ptr<ExampleSource> open_source(const std::filesystem::path& path,
                                           const SourceOptions& options);

// All columns of the set, names and types, of its first table; image_column and caption_column need
// not fit. What has no columns (COCO, tar) names its parts.
std::vector<ColumnInfo> describe_columns(const SourceOptions& options);

}  // namespace cantilever
