// What is found out once in a process, all of it before the first call.
#pragma once

namespace dnnmove {

// The instruction set, the caches, the processor, the tables of kernels, the pool of large buffers. Called by the import,
// under the interpreter's lock: what the first calls of a thread found out instead would be half done, for ever, in a
// child that is forked meanwhile. Throws ValueError where an environment variable has a wrong value.
void prepare_process();

}  // namespace dnnmove
