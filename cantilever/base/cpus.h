#pragma once

#include <string_view>

namespace cantilever {

// CPUs that this process may use: its affinity mask, lowered to its cgroup's CPU quota (rounded
// up), at least 1.
int allowed_cpus();

// CPUs of a cgroup v2 cpu.max ("200000 100000" is 2) rounded up, 0 when there is no limit ("max
// ...") or the text is something else.
int parse_cpu_max(std::string_view text);

}  // namespace cantilever
