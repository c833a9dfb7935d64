#pragma once

#include <string>
#include <vector>

#include "cantilever/data/source/columns.h"
#include "cantilever/data/source/example_source.h"

namespace arrow {
class Schema;
}  // namespace arrow

namespace cantilever {

// What is read of a table with an Arrow schema (Parquet, Arrow IPC).
struct ArrowColumns {
  ColumnChoice choice;
  ImageKind image_kind = ImageKind::kBytes;
  std::string image_type;     // for messages
  std::string caption_type;   // for messages
  bool caption_list = false;  // a row has a list of captions
};

// Chooses the two columns. `saved_features`: names of Image features known from elsewhere (the
// dataset_info.json of a saved set); those in the schema's "huggingface" metadata count as well.
// Throws Error as choose_columns.
ArrowColumns choose_arrow_columns(const std::string& file, const arrow::Schema& schema,
                                  TableOptions& options,
                                  const std::vector<std::string>& saved_features = {});

// The names of the columns that `datasets` calls Image in its info (a JSON text with "features", or
// with "info" around it). Throws Error when the text is something else.
std::vector<std::string> image_features_of(const std::string& json, const std::string& file);

// "(64 rows ..., pictures in 'image' as struct<...> (bytes), captions in 'caption')", its end.
std::string describe_columns(const ArrowColumns& columns, const TableOptions& options);

}  // namespace cantilever
