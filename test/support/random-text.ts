/** Numbers from 0 to 1 that look random and are the same in every run. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const PALETTE = Array.from('abcxyzABC019 :~-_/.%\'"`\\\t\n\0äßé€漢💡😀').concat(
  'e\u0301',
  '\u200d',
  '\ufffd',
);

/** Text of all that makes names hard: accents, emoji, control characters, separators. */
export function randomText(random: () => number, length: number): string {
  return Array.from({ length }, () => PALETTE[Math.floor(random() * PALETTE.length)]!).join('');
}
