/** A length of time: a number of milliseconds, or a number with its unit, like `'250ms'`, `'30s'`, `'5m'`, `'1h'`. */
export type Duration = number | `${number}${'ms' | 's' | 'm' | 'h'}`;

const MILLISECONDS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 } as const;
const PATTERN = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/;

/**
 * The milliseconds of a {@link Duration}; NaN for anything that is not one, so that a single range check
 * by the caller refuses nonsense and out-of-range values alike.
 */
export function milliseconds(duration: unknown): number {
  if (typeof duration === 'number') return duration;
  const match = typeof duration === 'string' ? PATTERN.exec(duration) : null;
  if (!match) return Number.NaN;
  return Number(match[1]) * MILLISECONDS[match[2] as keyof typeof MILLISECONDS];
}

/** A duration for people: `'1.5 s'`, `'250 ms'`. */
export function readable(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${Math.round(ms / 100) / 10} s`;
}
