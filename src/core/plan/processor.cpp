// Which of them runs this program.
#include "plan/processor.hpp"

namespace dnnmove {

const Processor& this_processor() {
#if defined(__x86_64__)
    static const bool few = __builtin_cpu_is("intel");
#else
    static const bool few = false;
#endif
    return few ? kFewStreams : kManyStreams;
}

}  // namespace dnnmove
