#include "cantilever/data/source/parquet_pages.h"

#include <parquet/page_index.h>
#include <parquet/properties.h>
#include <parquet/schema.h>

#include <algorithm>

#include "cantilever/base/error.h"
#include "cantilever/data/source/parquet_page_header.h"

namespace cantilever {
namespace {

constexpr int64_t kLongestHeader = int64_t{16} << 20;  // as Arrow has it

// Calls Arrow and turns whatever it throws into an Error that starts with `where()`.
template <class Where, class Function>
auto at_place(const Where& where, const Function& function) {
  try {
    return function();
  } catch (const InternalError&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw_error(concat(where(), ": there is not enough memory to decode it"));
  } catch (const std::exception& error) {
    throw_error(concat(where(), ": not readable as Parquet: ", error.what()));
  }
}

int64_t table_bytes(const ParquetPageTable& table) {
  return 128 + static_cast<int64_t>(table.pages.capacity() * sizeof(ParquetPageTable::Entry));
}

// What it takes to decode a page: nothing for a plain one without compression, which stays where it
// is.
int64_t memory_of_page(std::span<const std::byte> bytes, int16_t codec) {
  const auto header =
      parse_page_header(bytes.first(std::min(bytes.size(), static_cast<size_t>(kLongestHeader))));
  if (!header || (codec == 0 && header->encoding == 0)) return 0;
  return header->uncompressed_bytes;
}

}  // namespace

ParquetColumn::ParquetColumn(Place place, std::vector<ParquetChunk> chunks,
                             std::shared_ptr<ParquetCache> cache, bool pictures)
    : place_(std::move(place)),
      descriptor_(place_.schema->Column(place_.leaf)),
      chunks_(std::move(chunks)),
      cache_(std::move(cache)),
      pages_(pictures ? &cache_->pictures : &cache_->texts),
      repeated_(descriptor_->max_repetition_level() > 0) {}

std::string ParquetColumn::where(int64_t group, int64_t offset) const {
  return concat(place_.file, ": row group ", group, ", column ",
                quoted(descriptor_->path()->ToDotString()), ", page at byte ", offset);
}

ParquetPageBytes ParquetColumn::slice(const ParquetChunk& chunk, int64_t begin, int64_t end) const {
  ParquetPageBytes page;
  page.mapped = place_.mapped;
  page.bytes =
      place_.mapped->bytes().subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
  page.column = descriptor_;
  page.codec = chunk.codec;
  page.v2_always_compressed = chunk.v2_always_compressed;
  page.most_entries = repeated_ ? chunk.values : chunk.rows;
  return page;
}

// What the offset index says, when it says something sensible; otherwise false, and the headers are
// read.
bool ParquetColumn::index_pages(const ParquetChunk& chunk, ParquetPageTable& table) const {
  if (chunk.index_bytes <= 0) return false;
  std::unique_ptr<parquet::OffsetIndex> index;
  try {
    const auto bytes = place_.mapped->bytes().subspan(static_cast<size_t>(chunk.index_begin),
                                                      static_cast<size_t>(chunk.index_bytes));
    index =
        parquet::OffsetIndex::Make(bytes.data(), chunk.index_bytes, parquet::ReaderProperties());
  } catch (const std::exception&) {
    return false;
  }
  const auto& places = index->page_locations();
  if (places.empty() || places.front().first_row_index != 0) return false;
  int64_t free_from = chunk.begin;
  for (size_t i = 0; i < places.size(); ++i) {
    const int64_t next_row = i + 1 < places.size() ? places[i + 1].first_row_index : chunk.rows;
    const int64_t rows = next_row - places[i].first_row_index;
    const int64_t size = places[i].compressed_page_size;
    if (places[i].offset < free_from || size <= 0 || size > chunk.end - places[i].offset ||
        rows < 0 || rows > INT32_MAX || next_row > chunk.rows) {
      return false;
    }
    free_from = places[i].offset + size;
    table.pages.push_back({places[i].offset, places[i].first_row_index, static_cast<int32_t>(size),
                           static_cast<int32_t>(rows), false});
  }
  // A dictionary stands before the first data page.
  const auto head = parse_page_header(place_.mapped->bytes().subspan(
      static_cast<size_t>(chunk.begin),
      static_cast<size_t>(std::min(kLongestHeader, chunk.end - chunk.begin))));
  if (head && head->is(ParquetPageHeader::Type::kDictionary)) table.dictionary = chunk.begin;
  return true;
}

// One pass over the page headers of a chunk. A V1 page of a list may start within a row, and only
// its levels tell: such a chunk (captions) is decompressed once.
void ParquetColumn::scan_pages(int64_t group, ParquetPageTable& table) const {
  const ParquetChunk& chunk = chunks_[static_cast<size_t>(group)];
  int64_t at = chunk.begin;
  int64_t values = 0;
  int64_t rows = 0;
  while (values < chunk.values) {
    const auto header = parse_page_header(place_.mapped->bytes().subspan(
        static_cast<size_t>(at), static_cast<size_t>(std::min(kLongestHeader, chunk.end - at))));
    CANTILEVER_CHECK(header && header->compressed_bytes <= chunk.end - at - header->header_bytes,
                     where(group, at),
                     ": not readable as Parquet: there is no whole page where one "
                     "should be (",
                     values, " of ", chunk.values, " values are found)");
    const int64_t end = at + header->header_bytes + header->compressed_bytes;
    CANTILEVER_CHECK(end - at <= INT32_MAX, where(group, at), ": the page is too large");
    if (header->is(ParquetPageHeader::Type::kDictionary) && table.dictionary < 0) {
      table.dictionary = at;
    } else if (header->is_data()) {
      ParquetPageRows found{header->values, false};
      if (repeated_ && header->is(ParquetPageHeader::Type::kDataV2)) {
        found.rows = header->rows;
      } else if (repeated_) {
        found = at_place([&] { return where(group, at); },
                         [&] { return count_page_rows(slice(chunk, at, end)); });
      }
      CANTILEVER_CHECK(
          header->values >= 0 && found.rows >= 0 && header->values <= chunk.values - values,
          where(group, at), ": not readable as Parquet: the page has ", header->values,
          " values where ", chunk.values - values, " are left; the file is damaged");
      table.pages.push_back(
          {at, rows, static_cast<int32_t>(end - at), found.rows, found.continues});
      values += header->values;
      rows += found.rows;
    }
    at = end;
  }
  CANTILEVER_CHECK(rows == chunk.rows, place_.file, ": row group ", group, " holds ", rows,
                   " rows of ", quoted(descriptor_->path()->ToDotString()), " where ", chunk.rows,
                   " are claimed; the file is damaged");
}

std::shared_ptr<const ParquetPageTable> ParquetColumn::table(int64_t group) const {
  return cache_->tables.get({place_.file_number, group, place_.leaf}, [&] {
    auto table = std::make_shared<ParquetPageTable>();
    if (!index_pages(chunks_[static_cast<size_t>(group)], *table)) {
      *table = {};
      scan_pages(group, *table);
    }
    table->pages.shrink_to_fit();
    table->bytes = table_bytes(*table);
    return std::shared_ptr<const ParquetPageTable>(std::move(table));
  });
}

std::shared_ptr<const ParquetPage> ParquetColumn::dictionary(int64_t group, int64_t offset) const {
  CANTILEVER_CHECK(offset >= 0, "the page uses a dictionary, but there is none");
  const ParquetChunk& chunk = chunks_[static_cast<size_t>(group)];
  const auto bytes = [&] { return slice(chunk, offset, chunk.end); };
  return cache_->dictionaries.get(
      {place_.file_number, group, place_.leaf},
      [&] { return memory_of_page(bytes().bytes, chunk.codec); },
      [&] { return std::shared_ptr<const ParquetPage>(decode_dictionary_page(bytes())); });
}

std::shared_ptr<const ParquetPage> ParquetColumn::page(int64_t group, const ParquetPageTable& table,
                                                       int64_t number) const {
  const ParquetPageTable::Entry& entry = table.pages[static_cast<size_t>(number)];
  const ParquetChunk& chunk = chunks_[static_cast<size_t>(group)];
  const auto bytes = [&] { return slice(chunk, entry.offset, entry.offset + entry.bytes); };
  const auto expect = [&] { return memory_of_page(bytes().bytes, chunk.codec); };
  return pages_->get({place_.file_number, group, place_.leaf, number}, expect, [&] {
    return at_place(
        [&] { return where(group, entry.offset); },
        [&] {
          auto decoded =
              decode_data_page(bytes(), [&] { return dictionary(group, table.dictionary); });
          const size_t rows = repeated_ ? decoded->row_starts.size() - 1 : decoded->offsets.size();
          CANTILEVER_CHECK(rows == static_cast<size_t>(entry.rows), "the page has ", rows,
                           " rows where ", entry.rows, " are claimed");
          CANTILEVER_CHECK(!repeated_ || entry.continues || decoded->row_starts.front() == 0,
                           "the page starts within a row, but is not said to");
          return std::shared_ptr<const ParquetPage>(std::move(decoded));
        });
  });
}

ParquetColumn::Cell ParquetColumn::read(int64_t group, int64_t row, uint64_t draw) const {
  const std::shared_ptr<const ParquetPageTable> pages = table(group);
  const auto after = std::upper_bound(pages->pages.begin(), pages->pages.end(), row,
                                      [](int64_t wanted, const ParquetPageTable::Entry& entry) {
                                        return wanted < entry.first_row;
                                      });
  CANTILEVER_CHECK(after != pages->pages.begin(), place_.file, ": row group ", group,
                   " has no page of ", quoted(descriptor_->path()->ToDotString()), " with row ",
                   row);
  int64_t number = after - pages->pages.begin() - 1;
  // A page in which no row starts has the first_row of the next one.
  while (number > 0 && pages->pages[static_cast<size_t>(number)].rows == 0) --number;
  const ParquetPageTable::Entry& entry = pages->pages[static_cast<size_t>(number)];
  const int64_t in_page = row - entry.first_row;
  CANTILEVER_CHECK(in_page >= 0 && in_page < entry.rows, place_.file, ": row group ", group,
                   " has no page of ", quoted(descriptor_->path()->ToDotString()), " with row ",
                   row);
  if (repeated_) return read_list(group, *pages, number, in_page, draw);
  Cell cell;
  cell.page = page(group, *pages, number);
  cell.value = cell.page->value(in_page);
  return cell;
}

// A row of a list may go on in the pages that follow.
ParquetColumn::Cell ParquetColumn::read_list(int64_t group, const ParquetPageTable& table,
                                             int64_t number, int64_t row, uint64_t draw) const {
  struct Part {
    std::shared_ptr<const ParquetPage> page;
    int64_t first = 0;
    int64_t count = 0;
  };
  const auto first = page(group, table, number);
  const auto& starts = first->row_starts;
  const size_t at = static_cast<size_t>(row);
  Part head{first, starts[at], static_cast<int64_t>(starts[at + 1]) - starts[at]};
  Cell cell;
  cell.count = head.count;
  std::vector<Part> tail;
  const int64_t pages = static_cast<int64_t>(table.pages.size());
  const auto entry = [&](int64_t i) { return table.pages[static_cast<size_t>(i)]; };
  bool open = at + 2 == starts.size();
  for (int64_t next = number + 1; open && next < pages && entry(next).continues; ++next) {
    const auto more = page(group, table, next);
    tail.push_back({more, 0, more->row_starts.front()});
    cell.count += tail.back().count;
    open = entry(next).rows == 0;
  }
  if (cell.count == 0) return cell;
  int64_t wanted = static_cast<int64_t>(draw % static_cast<uint64_t>(cell.count));
  const Part* part = &head;
  for (size_t i = 0; wanted >= part->count; ++i) {
    wanted -= part->count;
    part = &tail[i];
  }
  cell.page = part->page;
  cell.value = part->page->value(part->first + wanted);
  return cell;
}

}  // namespace cantilever
