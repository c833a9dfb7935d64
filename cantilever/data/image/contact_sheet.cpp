#include <algorithm>

#include "cantilever/base/error.h"
#include "cantilever/data/image/canvas.h"

namespace cantilever {
namespace {

constexpr int kTextLines = 2;
constexpr int kFrame = 4;  // pixels of the highlight around a cell

// Sizes that follow from the options.
struct Layout {
  explicit Layout(const std::vector<ContactRow>& rows, const ContactSheetOptions& options)
      : options_(options), text_height(kTextLines * (options.text_size + options.text_size / 3)) {
    size_t columns = 1;
    for (const ContactRow& row : rows) columns = std::max(columns, row.cells.size());
    const int64_t step = options.cell_size + options.margin;
    const int64_t wide = options.margin + static_cast<int64_t>(columns) * step;
    const int64_t high = options.margin + std::max<int64_t>(std::ssize(rows), 1) * row_height();
    constexpr int64_t kMaxSide = 65535;
    CANTILEVER_CHECK(wide <= kMaxSide && high <= kMaxSide, "a contact sheet of ", rows.size(),
                     " rows and ", columns, " columns would have ", wide, " x ", high,
                     " pixels, at most ", kMaxSide, " a side can be drawn; show fewer rows");
    width = static_cast<int>(wide);
    height = static_cast<int>(high);
  }

  int row_height() const { return 2 * text_height + options_.cell_size + 2 * options_.margin; }

  const ContactSheetOptions& options_;
  int text_height;
  int width = 0;
  int height = 0;
};

}  // namespace

Canvas draw_contact_sheet(const std::vector<ContactRow>& rows, const ContactSheetOptions& options) {
  CANTILEVER_CHECK(options.cell_size > 0 && options.cell_size <= 4096 && options.text_size > 0 &&
                       options.text_size <= 256 && options.margin >= 0 && options.margin <= 1024,
                   "contact sheet: cell size ", options.cell_size, ", text size ",
                   options.text_size, " or margin ", options.margin, " is out of range");
  const Layout layout(rows, options);
  Canvas canvas(layout.width, layout.height, options.background);
  int top = options.margin;
  for (const ContactRow& row : rows) {
    const int text_width = layout.width - 2 * options.margin;
    canvas.draw_text(row.title, {options.margin, top, text_width, layout.text_height},
                     options.text_size, options.text);
    int left = options.margin;
    const int cell_top = top + layout.text_height;
    for (const ContactCell& cell : row.cells) {
      const Box square = {left, cell_top, options.cell_size, options.cell_size};
      canvas.fill_rectangle(square, options.empty);
      if (cell.image.width > 0) canvas.paste_fitted(cell.image.view(), square);
      if (cell.highlight) canvas.draw_rectangle(square, options.highlight, kFrame);
      canvas.draw_text(cell.label,
                       {left, cell_top + options.cell_size + options.text_size / 4,
                        options.cell_size, layout.text_height},
                       options.text_size, cell.highlight ? options.highlight : options.text);
      left += options.cell_size + options.margin;
    }
    top += layout.row_height();
  }
  return canvas;
}

}  // namespace cantilever
