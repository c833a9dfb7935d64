#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cantilever/data/source/columns.h"
#include "cantilever/data/source/example_source.h"

namespace cantilever {

// Pictures in folders named by what they show, as `datasets` takes a folder without metadata: the
// caption (its column "label") is the name of the picture's folder, with blanks for underscores.
// `pictures`: paths below `folder`, the rows in their order. A picture directly in `folder` has no
// caption: a bad row. Throws Error when another caption column than "label" is asked for.
std::shared_ptr<ExampleSource> open_labels(const std::filesystem::path& folder,
                                           const std::vector<std::string>& pictures,
                                           const TableOptions& options);

// The names of the folders that pictures lie in, without repetition, at most `most`.
std::vector<std::string> picture_labels(const std::vector<std::string>& pictures, size_t most);

}  // namespace cantilever
