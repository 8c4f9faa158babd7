/** Compiles and runs graphs on ONNX Runtime: the one file that knows it. Knows nothing of models or gradients. */
import { InferenceSession, Tensor as OrtTensor } from 'onnxruntime-node';
import { errorText, FailureError } from '../../../core/types.ts';
import type { ElementType } from './onnx.ts';

// ONNX Runtime's builds send usage data to their maker from when the first session is made. Nobody asked us for that.
process.env['ORT_DISABLE_TELEMETRY'] = '1';

/** Numbers with a shape. Runs read the array in place; results are fresh arrays. */
export interface Tensor {
  type: ElementType;
  dims: readonly number[];
  data: Float32Array | Int32Array | BigInt64Array | Uint8Array;
}

/** A compiled graph. `run` must not be called again before its promise has settled. */
export interface Program {
  /** Names of the inputs that the graph needs. */
  inputs: readonly string[];
  /** Needs every input of the graph; computes the named outputs, or all. */
  run(feeds: Readonly<Record<string, Tensor>>, outputs?: readonly string[]): Promise<Record<string, Tensor>>;
  release(): Promise<void>;
}

export interface CompileOptions {
  /** Threads inside one operator. */
  threads: number;
  /** Once it is aborted no graph runs any more: whoever computes between two graphs ends there. */
  ending?: AbortSignal | undefined;
}

export const float32 = (data: Float32Array, dims: readonly number[] = [data.length]): Tensor => ({
  type: 'float32',
  dims,
  data,
});
export const int32 = (data: Int32Array, dims: readonly number[] = [data.length]): Tensor => ({
  type: 'int32',
  dims,
  data,
});

/** Part of ES2024, which the compiler's libraries do not have yet. */
interface Transferable {
  transfer(bytes: number): ArrayBufferLike;
}

/**
 * Gives an array's memory back at once instead of at some later collection, so that the next result finds it warm and the
 * peak does not depend on the collector. Its array is empty afterwards.
 */
export function discard(owner: Tensor | Float32Array): void {
  const { buffer } = 'data' in owner ? owner.data : owner;
  if (buffer.byteLength > 0) (buffer as ArrayBufferLike & Transferable).transfer(0);
}

const policyFailure = (doing: string, cause: unknown): FailureError =>
  new FailureError({
    where: 'policy',
    message: `ONNX Runtime could not ${doing}: ${errorText(cause)}`,
  });

/** Values that come back as float32, int32 or int64 are all that our graphs return. */
function fromOrt(value: InferenceSession.OnnxValueMapType[string]): Tensor {
  const { type, dims, data } = value;
  if (data instanceof Float32Array && type === 'float32') return { type, dims, data };
  if (data instanceof Int32Array && type === 'int32') return { type, dims, data };
  if (data instanceof BigInt64Array && type === 'int64') return { type, dims, data };
  throw new FailureError({ where: 'bug', message: `A graph returned a tensor of type ${type}.` });
}

/** Throws a FailureError of `policy` where the bytes are no model that the machine can run. */
export async function compile(model: Uint8Array, { threads, ending }: CompileOptions): Promise<Program> {
  const session = await InferenceSession.create(model, {
    executionProviders: ['cpu'],
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    // Patterns would double the memory and help only where every run has the same shapes.
    enableMemPattern: false,
    // Every session would keep its own largest need for good.
    enableCpuMemArena: false,
    // Spinning threads steal time from the tools' processes.
    extra: { session: { intra_op: { allow_spinning: '0' }, inter_op: { allow_spinning: '0' } } },
    logSeverityLevel: 3,
  }).catch((cause: unknown) => Promise.reject(policyFailure('compile a graph', cause)));
  return {
    inputs: session.inputNames,
    async run(feeds, outputs) {
      if (ending?.aborted) throw new FailureError({ where: 'policy', message: 'The policy was closed.' });
      const inputs = Object.fromEntries(
        Object.entries(feeds).map(([name, { type, data, dims }]) => [name, new OrtTensor(type, data, dims)]),
      );
      const results = await session
        .run(inputs, outputs ?? session.outputNames)
        .catch((cause: unknown) => Promise.reject(policyFailure('run a graph', cause)));
      return Object.fromEntries(Object.entries(results).map(([name, value]) => [name, fromOrt(value)]));
    },
    release: () => session.release(),
  };
}
