#include "cantilever/base/cpus.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <thread>

namespace cantilever {
namespace {

TEST(Cpus, QuotaOfACgroup) {
  EXPECT_EQ(parse_cpu_max("200000 100000\n"), 2);
  EXPECT_EQ(parse_cpu_max("150000 100000\n"), 2);
  EXPECT_EQ(parse_cpu_max("50000 100000\n"), 1);
  EXPECT_EQ(parse_cpu_max("max 100000\n"), 0);
  EXPECT_EQ(parse_cpu_max(""), 0);
  EXPECT_EQ(parse_cpu_max("200000 0"), 0);
  EXPECT_EQ(parse_cpu_max("-1 100000"), 0);
}

TEST(Cpus, TheAffinityMaskCounts) {
  EXPECT_GE(allowed_cpus(), 1);
  int cpus = 0;
  std::thread([&] {  // the mask is a thread's own
    cpu_set_t all;
    ASSERT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (!CPU_ISSET(cpu, &all)) continue;
      CPU_SET(cpu, &one);
      break;
    }
    ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
    cpus = allowed_cpus();
  })
      .join();
  EXPECT_EQ(cpus, 1);
}

}  // namespace
}  // namespace cantilever
