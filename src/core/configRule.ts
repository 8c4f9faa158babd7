/** What a rule over several keys of a config is. Knows none of the rules. */
import type { Config, ConfigKey } from './configKeys.ts';
import type { Remedy } from './configRemedy.ts';

/** A combination that cannot be run. The place to show is the first of the keys that the user wrote. */
export interface Impossible {
  keys: readonly ConfigKey[];
  message: string;
  fix: string;
  /** Changes that each make the combination possible, the likeliest first. */
  remedies: readonly Remedy[];
}

/** `given` holds what the user wrote, by key. */
export type Rule = (config: Config, given: ReadonlyMap<ConfigKey, unknown>) => Impossible | undefined;
