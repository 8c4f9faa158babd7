/** The keys of what a run reads as tasks, and of what it writes beside its journal. Knows nothing of file formats. */
import { choice, count, flag, MILLION, path, type KeyOf, type TextKey } from './configSpecs.ts';

export interface DataConfig {
  /** Parquet or JSON Lines. */
  train: string;
  /** Same; '' for no evaluation. */
  heldOut: string;
  /** Order of training tasks. */
  shuffle: boolean;
  /** Where a row has what a task needs, by dotted name; '' for the usual names. */
  fields: { question: string; answer: string; ability: string; id: string };
  /** System message of tasks that bring none; '' for none. */
  system: string;
  /** What becomes of a prompt that is longer than `rollout.maxPromptTokens`. */
  longPrompts: 'leave-out' | 'truncate' | 'refuse';
}

export interface RecordConfig {
  /** Trees are kept of every n-th step, of the first and of the last. */
  keepTrees: number;
  /** Likeliest tokens that are kept beside each token that the policy draws; 0 for none. */
  alternatives: number;
  /** Every step's trajectories as a parquet file of their own. */
  parquet: boolean;
  /** The numbers of every step as TensorBoard events. */
  tensorboard: boolean;
}

type Keys<T extends string, V> = { readonly [K in keyof V & string as `${T}.${K}`]: KeyOf<V[K]> };

const field = (description: string): TextKey => ({
  kind: 'text',
  default: '',
  description: `${description} A dotted name reaches into objects and lists: answers.text, messages.0.content.`,
});

export const DATA_KEYS: Keys<'data', Omit<DataConfig, 'fields'>> & Keys<'data.fields', DataConfig['fields']> =
  {
    'data.train': {
      ...path('', 'Training tasks: Parquet or JSON Lines, in the verl schema or with question and answer.'),
      isRequired: true,
      example: 'tasks/train.parquet',
    },
    'data.heldOut': {
      ...path('', 'Held-out tasks for evaluation, in the same formats; empty for no evaluation.'),
      example: 'tasks/held-out.parquet',
    },
    'data.shuffle': flag(true, 'Whether each pass over the training tasks has its own seeded order.'),
    'data.fields.question': field(
      'Field of a row with the question, or with a list of messages; empty for prompt, messages, question or problem.',
    ),
    'data.fields.answer': field(
      'Field with the accepted answer, or a list of them; empty for reward_model.ground_truth, answer, answers or golden_answers. Of a worked solution in the style of GSM8K what follows #### counts.',
    ),
    'data.fields.ability': field('Field with the kind of task, such as math; empty for ability.'),
    'data.fields.id': field('Field with the task’s name; empty for the file’s name with the row’s number.'),
    'data.system': {
      kind: 'text',
      default: '',
      description:
        'System message put before tasks that bring none: how to call the tools and how to answer; empty for none.',
    },
    'data.longPrompts': choice(
      'leave-out',
      'What becomes of a task whose prompt has more tokens than `rollout.maxPromptTokens`.',
      {
        'leave-out': 'It is left out, with one warning for all of them.',
        truncate: 'The beginning of its longest message is cut, with one warning for all of them.',
        refuse: 'The run does not start.',
      },
    ),
  };

export const RECORD_KEYS: Keys<'record', RecordConfig> = {
  'record.keepTrees': count(
    1,
    1,
    MILLION,
    'Keep trees and tokens of every n-th step, of the first and of the last; what is told of the others stays in the journal.',
  ),
  'record.alternatives': count(
    0,
    0,
    20,
    'Likeliest tokens that are kept, with their probabilities, beside each token that the policy draws in training: in a trajectory’s text, hovers then show what else it could have said. Every one takes 8 bytes a drawn token in tokens.bin, beside the 16 of every token: 5 of them make the sample’s file twice as large. 0 for none.',
  ),
  'record.parquet': flag(
    false,
    'Whether every step’s trajectories are also written as trajectories/step-N.parquet, for pandas and DuckDB.',
  ),
  'record.tensorboard': flag(
    false,
    'Whether every step’s numbers are also written as TensorBoard events, in the folder tensorboard.',
  ),
};
