/** A report on an evaluation as one page that stands alone: no scripts, nothing from elsewhere. Knows nothing of files. */
import type { EvaluationRecord } from './evaluation.ts';
import { counted, percent } from './figures.ts';
import { escapeHtml } from './html.ts';
import type { Fact, FailureGroup, FlipLine, FlipSection, Report, SampleLine, Table } from './report.ts';
import { sampleText } from './sampleText.ts';

/** The page's HTML. `other` is the record that the report's flips are against. */
export function reportPage(report: Report, record: EvaluationRecord, other?: EvaluationRecord): string {
  const { title, subtitle, warnings, accuracy, facts, lengths, provenance, tools } = report;
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${text(`${title} · evaluation`)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<header><h1>${text(title)}</h1><p class="quiet">${text(subtitle)}</p></header>
${warnings.map(warning => `<p class="warning">▲ ${text(warning)}</p>`).join('\n')}
<section><h2>Accuracy</h2><p class="accuracy">${text(accuracy.text)}</p>${intervalBar(accuracy)}<p class="quiet">${text(accuracy.note)}</p>${factList(facts)}</section>
<section><h2>pass@k</h2>${report.passAtK ? tableOf(report.passAtK) : '<p class="quiet">Nothing was sampled.</p>'}</section>
<section><h2>Tool use</h2>${factList(tools.facts)}${tools.table ? tableOf(tools.table) : ''}</section>
<section><h2>Lengths</h2>${factList(lengths)}</section>
<section><h2>Failures by reason</h2>${failures(report, record)}</section>
${report.flips ? flips(report.flips, record, other) : ''}
<section><h2>Provenance</h2>${factList(provenance)}</section>
</main>
</body>
</html>
`;
}

const text = escapeHtml;

const factList = (facts: readonly Fact[]): string =>
  `<dl>${facts
    .map(
      ({ label, value, note }) =>
        `<div><dt>${text(label)}</dt><dd>${text(value)}${note === undefined ? '' : ` <span class="quiet">· ${text(note)}</span>`}</dd></div>`,
    )
    .join('')}</dl>`;

const tableOf = ({ heads, rows }: Table): string =>
  `<div class="wide"><table><thead><tr>${heads.map(head => `<th scope="col">${text(head)}</th>`).join('')}</tr></thead><tbody>${rows
    .map(
      ([first, ...cells]) =>
        `<tr><th scope="row">${text(first!.text)}</th>${cells.map(cell => `<td>${cell.share === undefined ? '' : shareBar(cell.share)}${text(cell.text)}</td>`).join('')}</tr>`,
    )
    .join('')}</tbody></table></div>`;

const part = (share: number): string => (100 * Math.min(1, Math.max(0, share))).toFixed(1);

const shareBar = (share: number): string =>
  `<span class="bar" aria-hidden="true"><span style="width:${part(share)}%"></span></span>`;

const intervalBar = ({ mean, interval: [low, high] }: Report['accuracy']): string =>
  `<svg class="interval" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true"><rect class="track" y="2.5" width="100" height="1"/><rect class="span" x="${part(low)}" y="1" width="${Math.max(0.3, 100 * (high - low)).toFixed(1)}" height="4"/><rect class="mean" x="${(100 * mean - 0.15).toFixed(2)}" width="0.3" height="6"/></svg>`;

function failures({ failures, measured }: Report, record: EvaluationRecord): string {
  if (failures.length === 0) return `<p>None of ${counted(measured, 'answer')} is wrong.</p>`;
  const group = ({ label, meaning, share, samples }: FailureGroup): string =>
    `<details><summary><b>${text(label)}</b> ${samples.length} (${text(percent(share))}) ${shareBar(share)} <span class="quiet">${text(meaning)}</span></summary>${samples.map(line => sample(line, record)).join('')}</details>`;
  return failures.map(group).join('\n');
}

const sample = (line: SampleLine, record: EvaluationRecord): string =>
  `<details class="sample"><summary>${text(`${line.name} · ${line.which}`)} <span>${text(line.question)}</span> <span class="said">answered ${text(line.said)}</span> <span class="quiet">accepted ${text(line.wanted)} · ${text(line.reason)}</span></summary><pre>${text(sampleText(record, line.task, line.trajectory))}</pre></details>`;

function flips(section: FlipSection, record: EvaluationRecord, other: EvaluationRecord | undefined): string {
  const { against, note, facts, gained, lost } = section;
  const both = (line: FlipLine): string =>
    `<details class="sample"><summary>${text(line.name)} <span>${text(line.question)}</span> <span class="said">${text(line.otherSaid)} → ${text(line.said)}</span></summary><div class="pair"><div><h4>There</h4><pre>${other ? text(sampleText(other, line.otherTask, line.otherTrajectory)) : ''}</pre></div><div><h4>Here</h4><pre>${text(sampleText(record, line.task, line.trajectory))}</pre></div></div></details>`;
  const list = (title: string, lines: readonly FlipLine[]): string =>
    `<details><summary><b>${title}</b> ${lines.length}</summary>${lines.map(both).join('')}</details>`;
  return `<section><h2>Flips against ${text(against)}</h2><p class="quiet">${text(note)}</p>${factList(facts)}${list('+ Gained', gained)}${list('− Lost', lost)}</section>`;
}

const STYLE = `
:root { color-scheme: light dark; --text: #1f1f1f; --quiet: #5f5f5f; --back: #fff; --line: #ddd; --mark: #0063d3; --warn: #8a5a00; --soft: #f4f4f4; }
@media (prefers-color-scheme: dark) { :root { --text: #d4d4d4; --quiet: #9d9d9d; --back: #1f1f1f; --line: #3c3c3c; --mark: #4daafc; --warn: #cca700; --soft: #282828; } }
@media (prefers-contrast: more) { :root { --text: CanvasText; --quiet: CanvasText; --back: Canvas; --line: CanvasText; --soft: Canvas; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--text); font: 14px/1.45 system-ui, sans-serif; }
main { max-width: 1000px; margin: 0 auto; padding: 24px; }
h1 { font-size: 1.5em; margin: 0; } h2 { font-size: 1.1em; margin: 28px 0 6px; border-bottom: 1px solid var(--line); padding-bottom: 3px; } h4 { margin: 6px 0 0; }
.quiet { color: var(--quiet); } p { margin: 4px 0; }
.warning { border-left: 3px solid var(--warn); padding-left: 8px; }
.accuracy { font-size: 1.7em; font-variant-numeric: tabular-nums; }
.interval { width: 100%; max-width: 420px; height: 14px; display: block; } .track { fill: var(--line); } .span { fill: var(--mark); opacity: .45; } .mean { fill: var(--mark); }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(280px, 1fr)); gap: 2px 24px; margin: 6px 0; }
dl div { display: flex; gap: 8px; } dt { color: var(--quiet); flex: none; } dd { margin: 0; overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
.wide { overflow-x: auto; } table { border-collapse: collapse; margin: 6px 0; } th, td { text-align: left; padding: 3px 18px 3px 0; border-bottom: 1px solid var(--line); font-variant-numeric: tabular-nums; } th { font-weight: 600; }
.bar { display: inline-block; width: 60px; height: 6px; margin-right: 6px; border: 1px solid var(--line); vertical-align: middle; } .bar span { display: block; height: 100%; background: var(--mark); }
details { margin: 3px 0; } summary { cursor: pointer; } .sample { margin-left: 18px; } .said { font-weight: 600; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: var(--soft); border: 1px solid var(--line); padding: 8px; margin: 4px 0; max-height: 480px; overflow-y: auto; font: 12px/1.4 ui-monospace, monospace; }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 12px; } .pair > div { min-width: 0; }
@media print { details > * { display: block; } pre { max-height: none; } }
`;
