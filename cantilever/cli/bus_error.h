#pragma once

namespace cantilever {

// Data files and caches are mapped. A page that another program cut off, or that the disk does not
// give, is a SIGBUS where it is read; from here on the program then names the file on standard
// error and ends with status 1. Other causes of SIGBUS keep their usual end.
void name_files_that_shrink();

}  // namespace cantilever
