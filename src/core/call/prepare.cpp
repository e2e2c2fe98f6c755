// What is found out once in a process, all of it before the first call.
#include "call/prepare.hpp"

#include "kernels/tables.hpp"
#include "plan/processor.hpp"
#include "runtime/buffer_pool.hpp"
#include "runtime/cpu.hpp"
#include "runtime/isa.hpp"
#include "runtime/threads.hpp"

namespace dnnmove {

void prepare_process() {
    best_isa();
    check_thread_environment();
    process_pool();
    last_level_cache();
    this_processor();
    for (const Isa isa : available_isas()) {
        kernels_for(isa);
        conversions_for(isa);
    }
}

}  // namespace dnnmove
