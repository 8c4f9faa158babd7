/** Writes questions as a dataset: parquet in the verl schema, as ARPO's own files have it. Knows nothing of the world. */
import parquet from 'parquetjs-lite';
import type { Question } from './questions.ts';

const { ParquetSchema, ParquetWriter } = parquet;
const text = { type: 'UTF8', optional: true, compression: 'GZIP' };
const SCHEMA = new ParquetSchema({
  data_source: text,
  prompt: {
    type: 'LIST',
    optional: true,
    fields: { list: { repeated: true, fields: { element: { fields: { content: text, role: text } } } } },
  },
  ability: text,
  reward_model: { optional: true, fields: { ground_truth: text, style: text } },
  extra_info: {
    optional: true,
    fields: { index: { type: 'INT64', optional: true }, question: text, split: text },
  },
});

export async function writeTasks(
  questions: readonly Question[],
  split: 'train' | 'test',
  path: string,
): Promise<void> {
  const writer = await ParquetWriter.openFile(SCHEMA, path);
  for (const [index, question] of questions.entries()) {
    await writer.appendRow({
      data_source: 'branchpoint-places',
      prompt: { list: [{ element: { role: 'user', content: question.text } }] },
      ability: question.kind,
      reward_model: { ground_truth: question.answer, style: 'rule' },
      extra_info: { index, question: question.text, split },
    });
  }
  await writer.close();
}
