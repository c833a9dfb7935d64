#pragma once

#include <filesystem>
#include <memory>

#include "cantilever/data/source/columns.h"
#include "cantilever/data/source/example_source.h"

namespace cantilever {

// A WebDataset shard: a tar archive (.tar, or .tar.gz within the limits below) whose members
// KEY.jpg, KEY.txt, KEY.json ... make a sample. One pass over the headers builds an index; pictures
// are views of the mapped archive. image_column may name the extension of the pictures ("png"),
// caption_column that of the captions ("txt") or a key of the .json members; by default any picture
// is taken, and the caption from .txt, else from "caption" or "text" of .json. A sample that lacks
// one of them is a bad row. Throws Error as open_source says: not a tar archive, damaged, cut off,
// no samples, two members of a sample with one extension.
std::shared_ptr<ExampleSource> open_tar(const std::filesystem::path& path,
                                        const TableOptions& options);

}  // namespace cantilever
