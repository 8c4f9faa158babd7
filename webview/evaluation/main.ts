/** The report of one evaluation: what its numbers are made of, and each failing sample a click away. Knows nothing of files. */
import type { EvaluationPlace, ViewSubject } from '../../src/protocol/verbs.ts';
import { element } from '../shared/element.ts';
import { joinHost, keepState, report as reported } from '../shared/host.ts';
import { reportSections } from './sections.ts';
import '../shared/shared.css';
import '../shared/report.css';
import './evaluation.css';

let subject: ViewSubject | undefined;

const host = joinHost({
  events: () => undefined,
  show(shown) {
    subject = shown;
    reported(read());
  },
});

const failure = element('div', { class: 'failure', id: 'failure', role: 'alert', hidden: true });
const body = element('div', { class: 'body' }, element('p', { class: 'quiet' }, 'Reading the evaluation…'));
document.body.append(element('main', {}, failure, body));
reported(
  host.ready().then(answer => {
    subject = answer.subject;
    return read();
  }),
);

/** Asks for the report again, and draws it. */
async function read(): Promise<void> {
  const { report, others, against } = await host.evaluation();
  failure.hidden = true;
  if (subject) {
    const { against: _, ...kept } = subject;
    keepState({ ...kept, ...(against && { against }) });
  }
  const { title, subtitle } = report;
  body.replaceChildren(
    element(
      'header',
      {},
      element(
        'div',
        { class: 'title' },
        element('h1', {}, title),
        element(
          'div',
          { class: 'buttons' },
          button('Export as HTML…', () => host.exportEvaluation()),
          button('Open Dashboard', () => host.openRun(0)),
        ),
        chooser(others, against),
      ),
      element('p', { class: 'quiet' }, subtitle),
    ),
    ...reportSections(report, {
      sample: sample => reported(host.openSample(sample)),
      flip: flip => reported(host.openFlip(flip)),
    }),
  );
}

const button = (label: string, ask: () => Promise<void>): HTMLElement =>
  element('button', { type: 'button', class: 'plain', onclick: () => reported(ask()) }, label);

const NONE = '';
const ANOTHER = 'another';

/** Which evaluation it is set against: one of the same run, or of any other. */
function chooser(
  others: readonly { label: string; place: EvaluationPlace }[],
  against: EvaluationPlace | undefined,
): HTMLElement {
  const chosen = others.findIndex(
    ({ place }) => place.runFolder === against?.runFolder && place.evaluation === against.evaluation,
  );
  const option = (value: string, label: string): HTMLElement =>
    element('option', { value, selected: value === String(chosen) }, label);
  const select = element(
    'select',
    { class: 'plain', onchange: () => reported(choose(select.value)) },
    option(NONE, 'nothing'),
    ...others.map(({ label }, index) => option(String(index), label)),
    option(ANOTHER, 'an evaluation of another run…'),
  );
  const choose = async (value: string): Promise<void> => {
    if (value === ANOTHER) await host.chooseAgainst();
    else await host.setAgainst(value === NONE ? undefined : others[Number(value)]?.place);
    await read();
    // The page was drawn anew: whoever uses the keyboard goes on where he was.
    document.querySelector('select')?.focus();
  };
  return element('label', { class: 'against' }, 'Set against ', select);
}
