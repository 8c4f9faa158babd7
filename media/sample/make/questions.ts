/** The sample's questions: seven kinds, with what it takes to answer them. Knows nothing of tools, rewards or files. */
import type { Draws } from './draws.ts';
import type { City, Country, Places, World } from './world.ts';

export type Kind =
  'population' | 'capital' | 'capital-population' | 'currency' | 'sum' | 'difference' | 'product';

/** How often each kind is asked. */
const WEIGHTS: Readonly<Record<Kind, number>> = {
  population: 1,
  capital: 1,
  'capital-population': 2,
  currency: 2,
  sum: 3,
  difference: 3,
  product: 2,
};

export interface Question {
  kind: Kind;
  text: string;
  answer: string;
  /** What is looked up one after the other: a place and what is asked about it. Empty for a product. */
  lookUps: { name: string; about: 'population' | 'capital' | 'country' | 'currency' }[];
  /** The numbers that are combined, in the order of the expression; only for sum, difference and product. */
  operands?: [number, number];
}

const KINDS = (Object.keys(WEIGHTS) as Kind[]).flatMap(kind => Array<Kind>(WEIGHTS[kind]).fill(kind));

/** A question about the given side's places only. */
export function ask(draws: Draws, world: Pick<World, 'cities'>, places: Places): Question {
  const kind = draws.pick(KINDS);
  switch (kind) {
    case 'population':
      return askPopulation(draws.pick(places.cities));
    case 'capital':
      return askCapital(draws.pick(places.countries));
    case 'capital-population':
      return askCapitalPopulation(draws, world, places);
    case 'currency':
      return askCurrency(draws, places);
    case 'sum':
    case 'difference':
      return askTwoCities(draws, kind, places);
    case 'product':
      return askProduct(draws.between(11, 299), draws.between(11, 299));
  }
}

const askPopulation = ({ name, population }: City): Question => ({
  kind: 'population',
  text: `How many thousand people live in ${name}?`,
  answer: String(population),
  lookUps: [{ name, about: 'population' }],
});

const askCapital = ({ name, capital }: Country): Question => ({
  kind: 'capital',
  text: `What is the capital of ${name}?`,
  answer: capital,
  lookUps: [{ name, about: 'capital' }],
});

function askCapitalPopulation(draws: Draws, world: Pick<World, 'cities'>, places: Places): Question {
  const country = draws.pick(places.countries.filter(({ capital }) => world.cities.has(capital)));
  const capital = world.cities.get(country.capital)!;
  return {
    kind: 'capital-population',
    text: `How many thousand people live in the capital of ${country.name}?`,
    answer: String(capital.population),
    lookUps: [
      { name: country.name, about: 'capital' },
      { name: capital.name, about: 'population' },
    ],
  };
}

function askCurrency(draws: Draws, places: Places): Question {
  const countries = new Set(places.countries);
  const { name, country } = draws.pick(places.cities.filter(city => countries.has(city.country)));
  return {
    kind: 'currency',
    text: `Which currency is used in ${name}?`,
    answer: country.currency,
    lookUps: [
      { name, about: 'country' },
      { name: country.name, about: 'currency' },
    ],
  };
}

function askTwoCities(draws: Draws, kind: 'sum' | 'difference', places: Places): Question {
  let [a, b] = [draws.pick(places.cities), draws.pick(places.cities)];
  while (a.population === b.population) b = draws.pick(places.cities);
  if (kind === 'difference' && a.population < b.population) [a, b] = [b, a];
  return {
    kind,
    text:
      kind === 'sum'
        ? `How many thousand people live in ${a.name} and ${b.name} together?`
        : `How many thousand more people live in ${a.name} than in ${b.name}?`,
    answer: String(kind === 'sum' ? a.population + b.population : a.population - b.population),
    lookUps: [a, b].map(({ name }) => ({ name, about: 'population' })),
    operands: [a.population, b.population],
  };
}

const askProduct = (a: number, b: number): Question => ({
  kind: 'product',
  text: `What is ${a} * ${b}?`,
  answer: String(a * b),
  lookUps: [],
  operands: [a, b],
});
