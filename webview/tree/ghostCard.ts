/** The card of a ghost: what was drawn, with what, and how it compares with the original. Knows nothing of the drawing. */
import type { Line } from '../../src/core/explain.ts';
import { counted } from '../../src/core/figures.ts';
import { segmentsOf } from '../../src/core/tree.ts';
import { shorten } from '../../src/core/wrap.ts';
import { element } from '../shared/element.ts';
import { number, signed } from '../shared/format.ts';
import { segmentName } from './explain.ts';
import type { Ghost } from './ghosts.ts';
import { lines, rewardPart, textPart } from './parts.ts';

export interface GhostActs {
  open(path: number, segment: number): void;
  compare(path: number): void;
}

/** `segment` counts in the counterfactual's own tree. */
export function ghostCard(ghost: Ghost, segment: number, acts: GhostActs): Node[] {
  const { counterfactual } = ghost;
  const { tree } = counterfactual;
  const here = tree.segments[segment]!;
  const sample = tree.paths.findIndex((_, path) => segmentsOf(tree, path).includes(segment));
  const ends = tree.paths.flatMap(({ leaf }, path) => (leaf === segment ? [path] : []));
  const button = (label: string, meaning: string, onclick: () => void): HTMLElement =>
    element('vscode-button', { title: meaning, onclick }, label);
  return [
    element('h2', { class: 'ghostly' }, `Counterfactual ${counterfactual.id}`),
    element('p', { class: 'verdict' }, verdict(ghost)),
    element('p', { class: 'quiet' }, 'Not trained on: drawn beside the training.'),
    lines(provenance(ghost)),
    element('h2', {}, `${nameOf(ghost, segment)}, sample ${sample}`),
    lines([
      { term: 'tokens', value: `${here.count}, not trained` },
      ...(here.entropy === undefined ? [] : [{ term: 'entropy', value: number(here.entropy) }]),
      ...(here.stop === undefined ? [] : [{ term: 'ended by', value: here.stop }]),
      ...(here.call === undefined
        ? []
        : [{ term: 'call', value: `${here.call.tool}: ${here.call.outcome}` }]),
    ]),
    ...(here.call ? [element('p', { class: 'quiet' }, shorten(here.call.argument, 200))] : []),
    ...textPart(here),
    ...ends.flatMap(path => rewardPart(tree, path)),
    element(
      'div',
      { class: 'actions' },
      button('Open as Text', 'Open the sample in an editor, at this segment (Enter)', () =>
        acts.open(sample, segment),
      ),
      button('Compare with Original', 'Show the sample beside the trajectory that it left, as a diff', () =>
        acts.compare(sample),
      ),
    ),
  ];
}

function nameOf({ counterfactual }: Ghost, segment: number): string {
  const { tree, prefix, result } = counterfactual;
  const name = segmentName(tree.segments[segment]!);
  const capital = name[0]!.toUpperCase() + name.slice(1);
  return segment === prefix - 1 && result ? `${capital} (${result})` : capital;
}

/** The difference in a sentence. */
export function verdict({ counterfactual, difference }: Ghost): string {
  const { rewards, mean, original } = difference;
  const samples = counted(rewards.length, 'sample');
  if (mean === undefined) return `${samples}, not judged`;
  const earned = `${samples} earned ${number(mean)} on average`;
  if (original === undefined || difference.difference === undefined) return earned;
  return `${earned}; the original, trajectory ${counterfactual.of.path}, earned ${number(original)}: difference ${signed(difference.difference)}`;
}

function provenance({ counterfactual }: Ghost): Line[] {
  const { of, result, weights, temperature, seed, seconds, at } = counterfactual;
  const place =
    of.token === undefined
      ? `after segment ${of.segment}`
      : `in segment ${of.segment}, ${of.token} tokens kept`;
  return [
    { term: 'left', value: `trajectory ${of.path}, ${place}` },
    ...(result === undefined
      ? []
      : [{ term: 'tool result', value: result, meaning: 'What the tool said is not what is stored.' }]),
    {
      term: 'weights',
      value: weights.checkpoint === 'initial' ? 'initial policy' : `${weights.checkpoint}`,
      meaning: `SHA-256 ${weights.hash}`,
    },
    { term: 'temperature', value: number(temperature) },
    { term: 'seed', value: String(seed) },
    { term: 'drawn', value: `${new Date(at).toLocaleString()}, in ${seconds.toFixed(1)} s` },
  ];
}
