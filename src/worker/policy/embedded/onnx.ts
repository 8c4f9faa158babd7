/** Writes ONNX models as protobuf bytes. Knows their messages (onnx.proto), nothing of what a graph computes. */
import { bytes, concat, float, integer, message, string } from '../../../core/protobuf.ts';

/** Element types that our graphs use, with their numbers in TensorProto.DataType. */
const dataTypes = { float32: 1, uint8: 2, int8: 3, int32: 6, int64: 7, bool: 9, float16: 10 } as const;
export type ElementType = keyof typeof dataTypes;

/** A number is a fixed dimension, a string names one that is known only when the graph runs. */
export type Dim = number | string;

export interface TensorSpec {
  name: string;
  type: ElementType;
  dims: readonly Dim[];
}

export interface TensorData {
  name: string;
  type: ElementType;
  dims: readonly number[];
  data: ArrayBufferView;
}

/** Integers and floats are told apart by the caller: 1 is an integer unless written { float: 1 }. */
export type Attribute = number | string | readonly number[] | { float: number } | { tensor: TensorData };

export interface NodeSpec {
  op: string;
  /** '' for an optional input that is left out. */
  inputs: readonly string[];
  outputs: readonly string[];
  attributes: Readonly<Record<string, Attribute>>;
  /** '' for the standard operators. */
  domain: string;
}

export interface ModelSpec {
  nodes: readonly NodeSpec[];
  inputs: readonly TensorSpec[];
  outputs: readonly TensorSpec[];
  initializers: readonly TensorData[];
}

const OPSET = 23;
const IR_VERSION = 11;

const tensor = ({ name, type, dims, data }: TensorData): Uint8Array[] => [
  ...dims.map(dim => integer(1, dim)),
  integer(2, dataTypes[type]),
  string(8, name),
  bytes(9, new Uint8Array(data.buffer, data.byteOffset, data.byteLength)),
];

function attribute(name: string, value: Attribute): Uint8Array[] {
  const head = string(1, name);
  if (typeof value === 'number') return [head, integer(3, value), integer(20, 2)];
  if (typeof value === 'string') return [head, string(4, value), integer(20, 3)];
  if ('float' in value) return [head, float(2, value.float), integer(20, 1)];
  if ('tensor' in value) return [head, message(5, tensor(value.tensor)), integer(20, 4)];
  return [head, ...value.map(entry => integer(8, entry)), integer(20, 7)];
}

const node = ({ op, inputs, outputs, attributes, domain }: NodeSpec): Uint8Array[] => [
  ...inputs.map(name => string(1, name)),
  ...outputs.map(name => string(2, name)),
  string(4, op),
  ...Object.entries(attributes).map(([name, value]) => message(5, attribute(name, value))),
  string(7, domain),
];

function valueInfo({ name, type, dims }: TensorSpec): Uint8Array[] {
  const shape = dims.map(dim => message(1, [typeof dim === 'string' ? string(2, dim) : integer(1, dim)]));
  return [string(1, name), message(2, [message(1, [integer(1, dataTypes[type]), message(2, shape)])])];
}

const opset = (domain: string, version: number): Uint8Array =>
  message(8, [string(1, domain), integer(2, version)]);

/** Serialised ModelProto. Nodes must be in topological order. */
export function encodeModel({ nodes, inputs, outputs, initializers }: ModelSpec): Uint8Array {
  const graph = [
    ...nodes.map(spec => message(1, node(spec))),
    string(2, 'graph'),
    ...initializers.map(data => message(5, tensor(data))),
    ...inputs.map(spec => message(11, valueInfo(spec))),
    ...outputs.map(spec => message(12, valueInfo(spec))),
  ];
  return concat([
    integer(1, IR_VERSION),
    string(2, 'branchpoint'),
    message(7, graph),
    opset('', OPSET),
    opset('com.microsoft', 1),
  ]);
}
