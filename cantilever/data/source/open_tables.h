#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cantilever/data/source/data_files.h"
#include "cantilever/data/source/open_source.h"

namespace cantilever {

// What the tables of a set are opened with.
TableOptions table_options(const SourceOptions& options, const std::filesystem::path& set_folder,
                           bool image_folder);

// The tables, by their formats, as one source, with the rows that `choice` makes of several
// captions; what was decided about them is logged. Throws Error when
// there are no rows.
std::shared_ptr<ExampleSource> open_tables(const std::vector<std::filesystem::path>& files,
                                           const TableOptions& options, CaptionChoice choice);

// One split of a folder.
std::shared_ptr<ExampleSource> open_split(const SplitFiles& split, const TableOptions& options,
                                          CaptionChoice choice);

}  // namespace cantilever
