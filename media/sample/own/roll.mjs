// A tool of one's own: takes the text between <roll> and </roll>, returns what the policy reads.
// Use it with  "tools": { "custom": [{ "tag": "roll", "module": "own/roll.mjs" }] }.
export default function roll({ argument }) {
  const [, count, sides] = /^(\d{1,3})d(\d{1,4})$/.exec(argument.trim()) ?? [];
  if (!sides) return { text: 'Write it as 2d6.', outcome: 'error' };
  return { text: `The mean of ${count}d${sides} is ${(Number(count) * (Number(sides) + 1)) / 2}.` };
}
