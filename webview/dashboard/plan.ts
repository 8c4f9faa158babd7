/** What a chart of the dashboard is before it has numbers. Knows nothing of canvases. */
import type { EvaluationSummary, StepSummary } from '../../src/core/events.ts';
import type { Series } from '../charts/plot.ts';

/** Undefined and null: not measured. */
export type Value = number | null | undefined;

/** A series and where its number is found. */
export interface Line extends Series {
  of(summary: StepSummary): Value;
}

export interface ChartPlan {
  title: string;
  lines: readonly Line[];
  /** Names that only the run knows, such as its tools or parts of the reward, and the series of one of them. */
  named?: {
    in(summary: StepSummary): readonly string[];
    line(name: string, index: number): Line;
    /** Value of the steps before the name was first seen; absent: not measured. */
    before?: number;
  };
}

/** A chart of evaluations. */
export interface EvaluationPlan {
  title: string;
  lines: readonly (Series & { of(summary: EvaluationSummary): Value })[];
}

export interface Group {
  title: string;
  charts: readonly (ChartPlan | EvaluationPlan)[];
}
