#include "cantilever/base/stop_signal.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace cantilever {
namespace {

TEST(StopSignal, FirstSignalOnlySetsAFlag) {
  const StopSignal guard;
  EXPECT_EQ(StopSignal::received(), 0);
  ::raise(SIGTERM);
  EXPECT_EQ(StopSignal::received(), SIGTERM);
}

TEST(StopSignal, SecondSignalEndsTheProcess) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const StopSignal guard;
    ::raise(SIGINT);
    ::raise(SIGINT);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 128 + SIGINT);
}

TEST(StopSignal, HandlersAreRestored) {
  {
    const StopSignal guard;
  }
  struct sigaction now{};
  ::sigaction(SIGTERM, nullptr, &now);
  EXPECT_EQ(now.sa_handler, SIG_DFL);
}

}  // namespace
}  // namespace cantilever
