/**
 * A little world of places that do not exist, new for every demonstration. Their names cannot be remembered, only copied,
 * and copying is what a policy needs for places that it has never heard of. Knows nothing of questions.
 */
import type { DemonstrationWorld } from './demonstrations.ts';
import type { Draws } from './draws.ts';
import { documents, isPlain, type City, type Country, type Places, type World } from './world.ts';

export interface Invented {
  cities: ReadonlyMap<string, City>;
  places: Places;
  tools: DemonstrationWorld;
}

const CITIES = 4;

/** Names are sewn together from real training names, so that they look and are spelled like those. */
export function invent(draws: Draws, { training }: World): Invented {
  const taken = new Set<string>();
  const named = (list: readonly { name: string }[]): string => {
    let name = '';
    while (name === '' || taken.has(name)) name = sewn(draws, draws.pick(list).name, draws.pick(list).name);
    taken.add(name);
    return name;
  };
  const capitals = Array.from({ length: CITIES }, () => named(training.cities));
  const countries = capitals.map((capital, i): Country => {
    const { continent } = draws.pick(training.countries);
    return { code: String(i), name: named(training.countries), continent, capital, currency: letters(draws) };
  });
  const cities = countries.map(country => ({
    name: country.capital,
    country,
    population: inhabitants(draws),
  }));
  const byName = new Map(cities.map(city => [city.name, city]));
  const docs = documents({ cities: byName, countries }).map(({ contents }) =>
    contents.slice(contents.indexOf('\n') + 1),
  );
  return {
    cities: byName,
    places: { cities, countries },
    tools: {
      search: query => resultOf(draws, docs, query),
      capitals: capitals,
      currencies: countries.map(({ currency }) => currency),
    },
  };
}

/** The beginning of one name and the end of another. */
function sewn(draws: Draws, first: string, second: string): string {
  const name = first.slice(0, draws.between(2, 5)) + second.slice(-draws.between(2, 5)).toLowerCase();
  return isPlain(name) ? name : '';
}

const letters = (draws: Draws): string =>
  Array.from({ length: 3 }, () => String.fromCharCode(draws.between(65, 90))).join('');

/** Every number of digits is as likely as it is among real cities or likelier, and every digit as likely as another. */
const inhabitants = (draws: Draws): number => Math.round(100 * 10 ** (draws.between(0, 2000) / 1000));

/** As the search tool answers: the document of the place in the query first, often a second that shares a word. */
function resultOf(draws: Draws, docs: readonly string[], query: string): string {
  const first = docs.filter(doc => ` ${query}`.endsWith(` ${doc.slice(0, doc.indexOf(':'))}`)).slice(0, 1);
  if (first.length === 0) return 'No search results found.';
  const second = draws.chance(0.4) ? [draws.pick(docs.filter(doc => doc !== first[0]))] : [];
  return [...first, ...second].map((doc, i) => `Page ${i + 1}: ${doc}`).join('\n');
}
