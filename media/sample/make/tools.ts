/** The live search tool, as demonstrations use it. Knows nothing of what they ask. */
import { searchIndex } from '../../../src/worker/tools/search.ts';
import type { DemonstrationWorld } from './demonstrations.ts';
import type { World } from './world.ts';

/** As in sample.branchpoint.json. */
const RESULTS = 2;
const RESULT_CHARACTERS = 200;

export function demonstrationWorld(world: World, corpus: string): DemonstrationWorld {
  const index = searchIndex({ corpus, results: RESULTS, resultCharacters: RESULT_CHARACTERS });
  const answers = new Map<string, string>();
  return {
    search(query) {
      let answer = answers.get(query);
      if (answer === undefined) answers.set(query, (answer = index.search(query).text));
      return answer;
    },
    capitals: world.training.countries.map(country => country.capital),
    currencies: [...new Set(world.training.countries.map(country => country.currency))],
  };
}
