import { describe, expect, it } from 'vitest';
import { milliseconds, readable } from '../../lib/shared/duration.js';

describe('a duration', () => {
  it.each([
    ...[
      [0, 0] as const,
      [250, 250] as const,
      [0.5, 0.5] as const,
      [-1, -1] as const,
      [Infinity, Infinity] as const,
    ],
    ...[['0s', 0] as const, ['250ms', 250] as const, ['30s', 30_000] as const, ['5m', 300_000] as const],
    ...[
      ['1h', 3_600_000] as const,
      ['1.5s', 1_500] as const,
      ['0.25h', 900_000] as const,
      ['007s', 7_000] as const,
    ],
  ])('%s is %d ms', (duration, ms) => {
    expect(milliseconds(duration)).toBe(ms);
  });

  it.each([
    ...[
      '',
      ' ',
      's',
      'ms',
      '10',
      '10 s',
      ' 10s',
      '10s ',
      '-10s',
      '+10s',
      '1e3s',
      '10S',
      '10sec',
      '1,5s',
      '1.s',
      '.5s',
    ],
    ...[
      '10d',
      '٣s',
      'Infinity',
      'NaNs',
      '10s5m',
      '0x10s',
      null,
      undefined,
      true,
      {},
      [],
      10n,
      Number.NaN,
      new Date(),
    ],
  ])('%s is none', (nonsense) => {
    expect(milliseconds(nonsense)).toBeNaN();
  });

  it('is shown to people in the unit that is easy to read', () => {
    expect([0, 3.4, 999.4, 1_000, 1_549, 90_000].map(readable)).toEqual([
      ...['0 ms', '3 ms', '999 ms', '1 s', '1.5 s', '90 s'],
    ]);
  });
});
