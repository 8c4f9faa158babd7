/** Numbers as views show them and as screen readers say them. Knows nothing of what they measure. */
import { MINUS, plain, signed as withSign, withoutZero } from '../../src/core/figures.ts';

/** Below it four decimals say nothing. */
const TINY = 0.0005;
const minus = (text: string): string => text.replace('-', MINUS);

/** As the English locale groups it, which is slow to ask for the first time. */
const grouped = (whole: number): string => String(whole).replace(/\B(?=(\d{3})+$)/g, ',');

/** A bare number as it is shown, see spoken: `.46`. */
export const number = (value: number | undefined | null): string => withoutZero(spoken(value));

/**
 * A number as it is said, or stands before a unit: `0.46`. Two or three significant digits, thousands grouped, tiny numbers by their power
 * of ten; a dash for what was not measured.
 */
export function spoken(value: number | undefined | null): string {
  if (value === undefined || value === null || Number.isNaN(value)) return '–';
  if (!Number.isFinite(value)) return value > 0 ? '∞' : `${MINUS}∞`;
  if (Number.isInteger(value) || Math.abs(value) >= 1000) return minus(grouped(Math.round(value)));
  if (Math.abs(value) < TINY) return value.toExponential(1).replaceAll('-', MINUS);
  // Two significant digits; a 0 at their end would be read as a third.
  if (Math.abs(value) < 0.01) return minus(String(Number(value.toFixed(4))));
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return minus(value.toFixed(digits));
}

/** So many digits after the point, for numbers that stand below each other; a dash for what was not measured. */
export const decimals = (value: number | undefined, digits = 2): string =>
  value === undefined || Number.isNaN(value) ? '–' : plain(value, digits);

/** With its sign, also when it is positive. */
export const signed = (value: number): string => (value === 0 ? '0' : withSign(plain(value, 2)));

export const percent = (share: number | undefined): string =>
  share === undefined ? '–' : `${Math.round(share * 100)} %`;

/** `4 s`, `3 min 20 s`, `2 h 5 min`. */
export function duration(seconds: number): string {
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}
