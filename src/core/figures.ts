/** Numbers as reports write them; what was not measured says so. Knows nothing of what they measure. */

export const NOT_LOGGED = 'not logged';

const MINUS = '\u2212';
const minus = (text: string): string => text.replace('-', MINUS);

/** So many decimals. */
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

/** So many decimals with the sign, also of what is not negative. */
export const change = (value: number | undefined, digits: number): string =>
  value === undefined || !Number.isFinite(value) ? NOT_LOGGED : signed(decimal(value, digits));

/** `1,234 tokens`, `1 token`. */
export const counted = (count: number, noun: string, plural = `${noun}s`): string =>
  `${whole(count)} ${count === 1 ? noun : plural}`;
