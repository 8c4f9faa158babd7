/** Numbers as views, texts and reports write them; what was not measured says so. Knows nothing of what they measure. */

export const NOT_LOGGED = 'not logged';

export const MINUS = '\u2212';
const minus = (text: string): string => text.replace('-', MINUS);

/**
 * A bare number with so many decimals and without a zero before its point, as the paper's figures have them: `.46`, `−.05`, `1.20`.
 * Before a unit, and where it is read aloud, it has one: see decimal.
 */
export const plain = (value: number | undefined, digits = 3): string => withoutZero(decimal(value, digits));

/** `0.46` → `.46`. */
export const withoutZero = (text: string): string => text.replace(/^([-\u2212]?)0\./, '$1.');

/** So many decimals, for a number that has a unit or is read aloud: `0.46 s`, “reward 0.46”. */
export const decimal = (value: number | undefined, digits: number): string =>
  value === undefined || !Number.isFinite(value) ? NOT_LOGGED : minus(value.toFixed(digits));

/** Thousands grouped. */
export const whole = (value: number | undefined): string =>
  value === undefined || !Number.isFinite(value)
    ? NOT_LOGGED
    : minus(Math.round(value).toLocaleString('en-US'));

/** `30.8 %`. */
export const percent = (share: number | undefined): string =>
  share === undefined || !Number.isFinite(share) ? NOT_LOGGED : `${decimal(100 * share, 1)} %`;

/** `30.8 % [22.5, 40.0]`; without the brackets where the interval has no width, or there is no number. */
export const ranged = (
  { mean, interval: [low, high] }: { mean: number; interval: readonly [number, number] },
  show: (value: number) => string = percent,
): string =>
  low === high || Number.isNaN(mean) ? show(mean) : `${show(mean)} [${bare(show(low))}, ${bare(show(high))}]`;

const bare = (text: string): string => text.replace(/ %$/, '');

/** With its sign, also when it is positive. */
export const signed = (text: string): string => (text.startsWith(MINUS) ? text : `+${text}`);

/** So many decimals with the sign, also of what is not negative: `+.46`. */
export const change = (value: number | undefined, digits: number): string =>
  value === undefined || !Number.isFinite(value) ? NOT_LOGGED : signed(plain(value, digits));

/** A difference of shares in points of a hundred: `+4.9`. */
export const points = (share: number): string =>
  Number.isFinite(share) ? signed(decimal(100 * share, 1)) : NOT_LOGGED;

/** `1,234 tokens`, `1 token`. */
export const counted = (count: number, noun: string, plural = `${noun}s`): string =>
  `${whole(count)} ${count === 1 ? noun : plural}`;
