/** The kinds of keys that a config may have, and how one is written down. Knows nothing of which keys there are. */

export interface Meaning {
  /** One sentence. */
  description: string;
  /** The paper's symbol, and the title of its section that the key comes from. */
  symbol?: string;
  section?: string;
}
export interface NumberKey extends Meaning {
  kind: 'number' | 'integer';
  default: number;
  minimum: number;
  maximum: number;
  /** True where the minimum itself is not allowed. */
  aboveMinimum?: boolean;
}
export interface BooleanKey extends Meaning {
  kind: 'boolean';
  default: boolean;
}
export interface ChoiceKey<V extends string = string> extends Meaning {
  kind: 'choice';
  default: V;
  /** What each choice means. */
  choices: Readonly<Record<V, string>>;
}
export interface TextKey extends Meaning {
  kind: 'text';
  default: string;
  /** Must be given: the default is no value. */
  isRequired?: boolean;
  /** A value to begin with, where the default is none. */
  example?: string;
  /** A file or folder, relative to the config file. */
  isPath?: boolean;
  pattern?: string;
  /** What the pattern asks for, after "must be". */
  patternMeaning?: string;
}
/** A list of texts. */
export interface WordsKey extends Meaning {
  kind: 'words';
  default: readonly string[];
}
/** Whole numbers by names that the user chooses. */
export interface CountsKey extends Meaning {
  kind: 'counts';
  default: Readonly<Record<string, number>>;
  minimum: number;
  maximum: number;
}
/** A list of objects that all have the same keys. */
export interface ListKey<Items = Readonly<Record<string, PlainKey>>> extends Meaning {
  kind: 'list';
  default: readonly never[];
  items: Items;
}
/** The kind of key that holds a value of the type. */
export type KeyOf<V> = [V] extends [boolean]
  ? BooleanKey
  : [V] extends [number]
    ? NumberKey
    : [V] extends [string]
      ? TextOrChoice<V>
      : [V] extends [readonly string[]]
        ? WordsKey
        : [V] extends [readonly (infer T)[]]
          ? ListKey<{ readonly [K in keyof T & string]: KeyOf<T[K]> }>
          : CountsKey;
type TextOrChoice<V extends string> = string extends V ? TextKey : ChoiceKey<V>;
/** Keys whose values have no parts that can be wrong by themselves. */
export type PlainKey = NumberKey | BooleanKey | ChoiceKey | TextKey | WordsKey;
export type AnyKey = PlainKey | CountsKey | ListKey;

export const count = (value: number, minimum: number, maximum: number, description: string): NumberKey => ({
  kind: 'integer',
  default: value,
  minimum,
  maximum,
  description,
});
export const amount = (value: number, minimum: number, maximum: number, description: string): NumberKey => ({
  ...count(value, minimum, maximum, description),
  kind: 'number',
});
export const flag = (value: boolean, description: string): BooleanKey => ({
  kind: 'boolean',
  default: value,
  description,
});
export const choice = <V extends string>(
  value: NoInfer<V>,
  description: string,
  choices: Readonly<Record<V, string>>,
): ChoiceKey<V> => ({
  kind: 'choice',
  default: value,
  description,
  choices,
});
export const path = (value: string, description: string): TextKey => ({
  kind: 'text',
  default: value,
  description,
  isPath: true,
});

export const MILLION = 1_000_000;

/** Titles of the paper's sections. */
export const ROLLOUT = 'Entropy-based Adaptive Rollout';
export const CREDIT = 'Advantage Attribution Estimation';
export const REWARD = 'Hierarchical Reward Design';
