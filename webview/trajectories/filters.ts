/** What to look for: text, tool, stop reason, reward, one prompt. Knows nothing of how it is found. */
import type { TrajectoryQuery } from '../../src/core/trajectorySearch.ts';
import type { StopReason } from '../../src/core/types.ts';
import { shorten } from '../../src/core/wrap.ts';
import { element } from '../shared/element.ts';

const STOPS: readonly StopReason[] = ['answer', 'call', 'call-limit', 'empty-call', 'length', 'turn-length'];
/** Typing waits so long for the next letter. */
const TYPING_MS = 250;

export interface Filters {
  root: HTMLElement;
  offerTools(tools: readonly string[]): void;
  readonly query: TrajectoryQuery;
  set(query: TrajectoryQuery): void;
  focus(): void;
}

/** `changed` is called after the reader changed something, `left` where he goes on to the list. */
export function filters(changed: () => void, left: () => void): Filters {
  let timer: number | undefined;
  const soon = (): void => {
    clearTimeout(timer);
    timer = window.setTimeout(changed, TYPING_MS);
  };
  const now = (): void => {
    clearTimeout(timer);
    changed();
  };
  const text = textField(soon, () => {
    now();
    left();
  });
  const tool = choiceOf('Tool that was called', 'any tool', [], now);
  const stop = choiceOf('Stop reason', 'any end', STOPS, now);
  const minimum = bound('Lowest reward', 'from', soon);
  const maximum = bound('Highest reward', 'to', soon);
  const prompt = promptChip(now);
  const root = element(
    'form',
    {
      class: 'filters',
      role: 'search',
      'aria-label': 'Look for trajectories',
      onsubmit: event => event.preventDefault(),
    },
    text,
    tool,
    stop,
    element('span', { class: 'bounds' }, 'R', minimum, '–', maximum),
    prompt.root,
  );
  return {
    root,
    offerTools: tools => offer(tool, tools),
    focus: () => text.focus(),
    get query() {
      return queryOf({
        text: text.value,
        tool: tool.value,
        stop: stop.value as StopReason | '',
        prompt: prompt.value,
        minimum: minimum.valueAsNumber,
        maximum: maximum.valueAsNumber,
      });
    },
    set(query) {
      text.value = query.text ?? '';
      if (query.tool !== undefined) offer(tool, [query.tool]);
      tool.value = query.tool ?? '';
      stop.value = query.stop ?? '';
      minimum.value = String(query.minimum ?? '');
      maximum.value = String(query.maximum ?? '');
      prompt.value = query.prompt ?? '';
    },
  };
}

function textField(changed: () => void, entered: () => void): HTMLInputElement {
  return element('input', {
    type: 'search',
    placeholder: 'Text of a trajectory  ( / )',
    'aria-label': 'Text of a trajectory',
    oninput: changed,
    onkeydown: event => (event as KeyboardEvent).key === 'Enter' && entered(),
  });
}

/** Without what was left open. */
function queryOf(
  given: Omit<Required<TrajectoryQuery>, 'stop'> & { stop: StopReason | '' },
): TrajectoryQuery {
  const isGiven = (value: string | number): boolean => value !== '' && !Number.isNaN(value);
  return Object.fromEntries(Object.entries(given).filter(([, value]) => isGiven(value)));
}

function choiceOf(
  label: string,
  any: string,
  values: readonly string[],
  changed: () => void,
): HTMLSelectElement {
  const choice = element('select', { 'aria-label': label, onchange: changed }, option('', any));
  offer(choice, values);
  return choice;
}

/** Adds the values that are not offered yet. */
function offer(choice: HTMLSelectElement, values: readonly string[]): void {
  const known = new Set(Array.from(choice.options, ({ value }) => value));
  choice.append(...values.filter(value => !known.has(value)).map(value => option(value, value)));
}

const option = (value: string, label: string): HTMLOptionElement => element('option', { value }, label);

const bound = (label: string, placeholder: string, changed: () => void): HTMLInputElement =>
  element('input', { type: 'number', step: 0.1, placeholder, 'aria-label': label, oninput: changed });

/** The one prompt that is asked for, and a way back to all. */
function promptChip(changed: () => void): { root: HTMLElement; value: string } {
  let prompt = '';
  const root = element('button', { type: 'button', class: 'chip', hidden: true });
  const chip = {
    root,
    get value() {
      return prompt;
    },
    set value(next: string) {
      prompt = next;
      root.hidden = prompt === '';
      root.textContent = `Prompt: ${shorten(prompt, 48)}  ✕`;
      root.title = `${prompt}\nClick to see all prompts`;
      root.setAttribute('aria-label', `Only the prompt “${shorten(prompt, 120)}”. Show all prompts`);
    },
  };
  root.addEventListener('click', () => {
    chip.value = '';
    changed();
  });
  return chip;
}
