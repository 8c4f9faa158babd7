/** A graph under construction: values, nodes, inputs, outputs, constants. Knows nothing of gradients or of what runs it. */
import { encodeModel } from './onnx.ts';
import type { Attribute, Dim, ElementType, TensorData } from './onnx.ts';

/** An edge of the graph. Its name is only final when the graph is built. */
export interface Value {
  name: string;
  readonly type: ElementType;
  readonly dims: readonly Dim[];
}

interface Node {
  op: string;
  inputs: readonly (Value | undefined)[];
  outputs: readonly Value[];
  attributes: Readonly<Record<string, Attribute>>;
  domain: string;
}

export interface NodeOptions {
  attributes?: Readonly<Record<string, Attribute>>;
  /** Element type of the results, one for each where they differ; that of the first input where absent. */
  type?: ElementType | readonly ElementType[];
  /** '' (standard operators) where absent. */
  domain?: string;
}

const arrayTypes = { float32: Float32Array, int32: Int32Array, int64: BigInt64Array } as const;

/** Nodes are appended in the order of the calls, so inputs exist before they are used. */
export class Graph {
  private nodes: Node[] = [];
  private readonly inputs: Value[] = [];
  private readonly outputs: { name: string; value: Value }[] = [];
  private readonly constants = new Map<string, { value: Value; data: ArrayBufferView }>();
  private count = 0;

  private fresh(dims: readonly Dim[], type: ElementType): Value {
    return { name: `v${this.count++}`, dims, type };
  }

  input(name: string, dims: readonly Dim[], type: ElementType = 'float32'): Value {
    const value = { name, dims, type };
    this.inputs.push(value);
    return value;
  }

  /** Names a value as a result. A value may have several names. */
  output(name: string, value: Value): void {
    this.outputs.push({ name, value });
  }

  /** Equal constants are stored once. */
  constant(
    data: readonly number[],
    dims: readonly number[] = [data.length],
    type: keyof typeof arrayTypes = 'float32',
  ): Value {
    const key = `${type}[${dims.join()}]${data.join()}`;
    const known = this.constants.get(key);
    if (known) return known.value;
    const value = this.fresh(dims, type);
    this.constants.set(key, {
      value,
      data: type === 'int64' ? BigInt64Array.from(data, BigInt) : arrayTypes[type].from(data),
    });
    return value;
  }

  /** Appends one node with one result of the given dimensions. */
  node(
    op: string,
    inputs: readonly (Value | undefined)[],
    dims: readonly Dim[],
    options: NodeOptions = {},
  ): Value {
    return this.split(op, inputs, [dims], options)[0]!;
  }

  /** Appends one node with as many results as dimensions are given. */
  split(
    op: string,
    inputs: readonly (Value | undefined)[],
    dims: readonly (readonly Dim[])[],
    options: NodeOptions = {},
  ): Value[] {
    const type = options.type ?? inputs.find(value => value)?.type ?? 'float32';
    const outputs = dims.map((each, i) => this.fresh(each, typeof type === 'string' ? type : type[i]!));
    this.nodes.push({
      op,
      inputs,
      outputs,
      attributes: options.attributes ?? {},
      domain: options.domain ?? '',
    });
    return outputs;
  }

  /** Turns a computed value into an input of the given name: what computed it, and only that, is forgotten. */
  replaceByInput(name: string, value: Value): void {
    this.nodes = this.nodes.map(node =>
      node.outputs.includes(value)
        ? {
            ...node,
            outputs: node.outputs.map(output =>
              output === value ? this.fresh(value.dims, value.type) : output,
            ),
          }
        : node,
    );
    value.name = name;
    this.inputs.push(value);
  }

  /** Names of the inputs that the outputs depend on; only these are inputs of the built model. */
  liveInputs(): string[] {
    const { live } = this.reachable();
    return this.inputs.filter(value => live.has(value)).map(value => value.name);
  }

  private reachable(): { live: Set<Value>; nodes: Node[] } {
    const live = new Set(this.outputs.map(({ value }) => value));
    const nodes = this.nodes.filter(() => false);
    for (const node of this.nodes.toReversed()) {
      if (!node.outputs.some(value => live.has(value))) continue;
      nodes.push(node);
      for (const value of node.inputs) if (value) live.add(value);
    }
    return { live, nodes: nodes.reverse() };
  }

  /** Serialised ONNX model without the nodes and inputs that no output depends on. */
  build(): Uint8Array {
    const { live, nodes } = this.reachable();
    const computed = new Set(nodes.flatMap(node => node.outputs));
    const names = new Map<Value, string>();
    const nameOf = (value: Value | undefined): string => (value ? (names.get(value) ?? value.name) : '');
    // An Identity node would copy, so it is left for inputs and for values with a second name.
    const copies = this.outputs.filter(({ name, value }) => {
      if (!computed.has(value) || names.has(value)) return true;
      names.set(value, name);
      return false;
    });
    const specs = [
      ...nodes,
      ...copies.map(({ name, value }) => ({
        ...{ op: 'Identity', inputs: [value], outputs: [{ ...value, name }], attributes: {}, domain: '' },
      })),
    ];
    return encodeModel({
      nodes: specs.map(node => ({
        ...node,
        inputs: node.inputs.map(nameOf),
        outputs: node.outputs.map(nameOf),
      })),
      inputs: this.inputs.filter(value => live.has(value)),
      outputs: this.outputs.map(({ name, value }) => ({ ...value, name })),
      initializers: [...this.constants.values()].filter(({ value }) => live.has(value)).map(initializerOf),
    });
  }
}

const initializerOf = ({ value, data }: { value: Value; data: ArrayBufferView }): TensorData => ({
  name: value.name,
  type: value.type,
  dims: value.dims.map(Number),
  data,
});
