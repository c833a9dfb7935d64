#pragma once

#include <memory>

#include "cantilever/data/source/record_source.h"

namespace cantilever {

// Every caption of `source` as a row of its own, in order; a row that cannot be read stays one row.
// `source` itself when no row has several.
std::shared_ptr<ExampleSource> expand_captions(std::shared_ptr<ExampleSource> source);

// Of a source that has a row for every caption: one row a picture (in the order in which they first
// occur), whose captions are those of its rows.
std::shared_ptr<ExampleSource> group_by_picture(std::shared_ptr<RecordSource> source);

// How many different pictures the rows of a source name; rows that cannot be read do not count.
int64_t count_pictures(const RecordSource& source);

}  // namespace cantilever
