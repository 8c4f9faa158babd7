/** Recognises what an engine says when the machine's memory ran out. Knows nothing of engines. */
import type { Failure } from '../../core/types.ts';

/** Words of the C++ library, of ONNX Runtime's allocator, and of V8 about arrays and its heap. */
const MEMORY =
  /bad_alloc|allocate memory|allocation failed|out of memory|Invalid (typed )?array (buffer )?length/i;
/** A system without memory does this to the largest process, and so may anybody. */
const KILLED = /killed \(SIGKILL\)/;

const ADVICE =
  'close other programs and resume the run, or start one with a lower memoryMB (activations then are computed again), rollout.groupSize or rollout.maxResponseTokens.';

/** The failure with what can be done, where it is one of memory that says nothing of it yet; else as it is. */
export function explained(failure: Failure): Failure {
  const { where, message, fix } = failure;
  if (fix !== undefined || (where !== 'policy' && where !== 'bug')) return failure;
  if (MEMORY.test(message))
    return {
      where: 'policy',
      message: `The engine ran out of memory. ${message}`,
      fix: `To have enough of it, ${ADVICE}`,
    };
  return KILLED.test(message) ? { ...failure, fix: `If memory ran out, ${ADVICE}` } : failure;
}
