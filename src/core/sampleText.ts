/** A trajectory of an evaluation as text for people. Knows nothing of editors or pages. */
import { tokensOf, type EvaluationRecord, type SamplePiece, type TrajectoryOutcome } from './evaluation.ts';
import { failureReason, FAILURE_REASONS } from './evaluationFailures.ts';
import { counted, plain } from './figures.ts';

/** `greedy`, or `sample 2 of 4`. */
export function sampleName(trajectories: readonly TrajectoryOutcome[], index: number): string {
  const isSample = ({ greedy }: TrajectoryOutcome): boolean => !greedy;
  if (!isSample(trajectories[index]!)) return 'greedy';
  const before = trajectories.slice(0, index).filter(isSample).length;
  return `sample ${before + 1} of ${trajectories.filter(isSample).length}`;
}

/** Heads, prompt and response; throws where there is no such trajectory. */
export function sampleText(
  { summary, outcomes }: EvaluationRecord,
  task: number,
  trajectory: number,
): string {
  const of = outcomes[task];
  const outcome = of?.trajectories[trajectory];
  if (!of || !outcome)
    throw new Error(`Evaluation ${summary.id} has no trajectory ${trajectory} of task ${task}.`);
  const failure = failureReason(outcome);
  const verdict = failure === undefined ? 'right' : FAILURE_REASONS[failure].label.toLowerCase();
  const tokens = tokensOf(outcome);
  const heads = [
    `# ${summary.id} · task ${of.task}${of.ability && ` (${of.ability})`} · ${sampleName(of.trajectories, trajectory)}`,
    `# ${verdict} · reward ${plain(outcome.reward, 2)} · ${counted(outcome.calls, 'tool call')} · ${tokens === undefined ? 'tokens not logged' : counted(tokens, 'token')}${outcome.stop === undefined ? '' : ` · ended by ${outcome.stop}`}`,
    `# accepted: ${of.references.join(' | ')}${outcome.answer === undefined ? '' : ` · answered: ${outcome.answer}`}`,
    `# ${outcome.reason}`,
  ].map(line => line.replaceAll(/\s*\n\s*/g, ' ␊ '));
  const prompt = of.prompt ?? of.question;
  return [...heads, '', '── prompt ──', prompt, ...responseLines(outcome), ''].join('\n');
}

function responseLines({ pieces, text }: TrajectoryOutcome): string[] {
  // Who wrote what was not logged, or does not add up to the text: all of it stands under one heading.
  if (pieces?.reduce((sum, { length }) => sum + length, 0) !== text.length)
    return ['', '── response ──', text];
  let at = 0;
  let turn = 0;
  return pieces.flatMap(piece => {
    const own = text.slice(at, (at += piece.length));
    if (piece.kind === 'model') turn++;
    return ['', `── ${headingOf(piece, turn)} ──`, own];
  });
}

function headingOf({ kind, tokens, call }: SamplePiece, turn: number): string {
  const size = counted(tokens, 'token');
  if (call === undefined) return kind === 'model' ? `model · turn ${turn} · ${size}` : `${kind} · ${size}`;
  const took = call.shared ? 'shared answer' : `${Math.round(call.latencyMs)} ms`;
  return `tool · ${call.tool} · ${call.outcome} · ${took} · ${size}`;
}
