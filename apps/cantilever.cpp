#include "cantilever/cli/main.h"

int main(int argc, char** argv) {
  return cantilever::run_main(argc, argv);
}
