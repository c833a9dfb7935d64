#include "cantilever/base/stop_signal.h"

#include <unistd.h>
#include <csignal>

namespace cantilever {
namespace {

volatile std::sig_atomic_t g_received = 0;
struct sigaction g_previous_int;
struct sigaction g_previous_term;

void on_signal(int signal) {
  if (g_received != 0) ::_exit(128 + signal);
  g_received = signal;
}

}  // namespace

StopSignal::StopSignal() {
  g_received = 0;
  struct sigaction action{};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGINT, &action, &g_previous_int);
  ::sigaction(SIGTERM, &action, &g_previous_term);
}

StopSignal::~StopSignal() {
  ::sigaction(SIGINT, &g_previous_int, nullptr);
  ::sigaction(SIGTERM, &g_previous_term, nullptr);
}

int StopSignal::received() {
  return g_received;
}

}  // namespace cantilever
