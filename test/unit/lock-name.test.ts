import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { LockNameError } from 'nestjs-interlock';
import { checkName, KEY_BYTES, keyOf, nameOf } from '../../lib/shared/lock-name.js';
import { randomText, seeded } from '../support/random-text.js';

const HOST = Buffer.from('000102030405060708090a0b0c0d0e0f', 'hex');
const OTHER_HOST = Buffer.from('ff0102030405060708090a0b0c0d0e0f', 'hex');
const ROOM = { global: KEY_BYTES - 2, local: KEY_BYTES - 25 } as const;
const SCOPES = ['global', 'local'] as const;
const sha = (text: string) => createHash('sha256').update(text).digest('hex');

describe('a lock’s name', () => {
  it('is any well-formed text of 1 to 1,024 bytes', () => {
    for (const name of ['a', ' ', '\0', '\ufeff', '😀', 'ä'.repeat(512), 'a'.repeat(1024), '💡'.repeat(256)])
      expect(() => checkName(name)).not.toThrow();
  });

  it.each([
    ['', 'Expected a lock name of at least one byte and got an empty string.'],
    ['a'.repeat(1025), 'Expected a lock name of at most 1024 bytes and got 1025.'],
    [`${'ä'.repeat(512)}a`, 'at most 1024 bytes and got 1025'],
    ['\ud83d', 'half a surrogate pair'],
    ['\ude00', 'half a surrogate pair'],
    ['job \ude00\ud83d', 'half a surrogate pair'],
    [undefined, 'Expected a lock name, a string, and got undefined.'],
    [7, 'got number'],
    [new String('job'), 'got object'],
    [Symbol('job'), 'got symbol'],
  ])('is not %s', (name, message) => {
    expect(() => checkName(name)).toThrow(LockNameError);
    expect(() => checkName(name)).toThrow(message);
  });
});

describe('the key of a lock', () => {
  it('is its scope and its name, byte for byte', () => {
    expect(keyOf('Jöb 😀\0', 'global', HOST)).toEqual(Buffer.from('g:Jöb 😀\0'));
    expect(keyOf('Jöb', 'local', HOST)).toEqual(Buffer.from(`l:${HOST.toString('base64url')}:Jöb`));
    expect(keyOf('job', 'local', HOST)).not.toEqual(keyOf('job', 'local', OTHER_HOST));
    expect(keyOf('job', 'global', HOST)).toEqual(keyOf('job', 'global', OTHER_HOST));
  });

  it.each(SCOPES)(
    'of a name that just fits is readable, and one byte more is cut and hashed (%s)',
    (scope) => {
      const fits = 'a'.repeat(ROOM[scope]);
      expect(keyOf(fits, scope, HOST).toString().endsWith(`:${fits}`)).toBe(true);
      expect(keyOf(fits, scope, HOST)).toHaveLength(KEY_BYTES);
      const cut = keyOf(`${fits}a`, scope, HOST);
      expect(cut).toHaveLength(KEY_BYTES);
      expect(nameOf(cut)!.name).toBe(`${'a'.repeat(ROOM[scope] - 65)}~${sha(`${fits}a`)}`);
    },
  );

  it.each(SCOPES)('is cut between two characters, as late as they allow (%s)', (scope) => {
    for (const character of ['ä', '€', '💡']) {
      for (let offset = 0; offset < 4; offset++) {
        const name = 'x'.repeat(offset) + character.repeat(250);
        const { name: stored } = nameOf(keyOf(name, scope, HOST))!;
        const beginning = stored.slice(0, -65);
        const room = ROOM[scope] - 65;
        expect(name.startsWith(beginning)).toBe(true);
        expect(stored.slice(-64)).toBe(sha(name));
        expect(Buffer.byteLength(beginning)).toBeLessThanOrEqual(room);
        expect(Buffer.byteLength(beginning)).toBeGreaterThan(room - Buffer.byteLength(character));
      }
    }
  });

  it.each(SCOPES)('of a name that looks like a stored hash is never that of the hashed one (%s)', (scope) => {
    const long = 'report:'.repeat(100);
    const lookalike = nameOf(keyOf(long, scope, HOST))!.name;
    const twice = nameOf(keyOf(lookalike, scope, HOST))!.name;
    const short = `a~${sha('a')}`;
    const keys = [long, lookalike, twice, short].map((name) => keyOf(name, scope, HOST).toString('hex'));
    expect(new Set(keys).size).toBe(4);
    expect(nameOf(keyOf(short, scope, HOST))!.name).toBe(`${short.slice(0, ROOM[scope] - 65)}~${sha(short)}`);
    expect(nameOf(keyOf(`a~${sha('a').toUpperCase()}`, scope, HOST))!.name).toBe(
      `a~${sha('a').toUpperCase()}`,
    );
    expect(nameOf(keyOf(`${short} `, scope, HOST))!.name).toBe(`${short} `);
  });

  it('is different for different names, fits the column, and tells its scope and beginning: 3,000 of them', () => {
    const random = seeded(20_260_101);
    const names = new Set<string>();
    while (names.size < 3_000) {
      const name = randomText(random, 1 + Math.floor(random() * 260));
      if (Buffer.byteLength(name) <= 1_024) names.add(name);
    }
    // Names that share a long beginning, and names that look like the stored form of another one.
    for (const name of [...names].slice(0, 300)) {
      names.add('y'.repeat(150) + name);
      for (const scope of SCOPES) names.add(nameOf(keyOf(name, scope, HOST))!.name);
    }
    for (const scope of SCOPES) {
      const keys = new Map<string, string>();
      const faults = [...names].filter((name) => {
        const key = keyOf(name, scope, HOST);
        const back = nameOf(key)!;
        const other = keys.get(key.toString('latin1')) ?? name;
        keys.set(key.toString('latin1'), name);
        const isReadable = back.name === name || name.startsWith(back.name.slice(0, -65));
        const isWhole = Buffer.from(key.toString()).equals(key);
        return other !== name || key.length > KEY_BYTES || back.scope !== scope || !isReadable || !isWhole;
      });
      expect(faults).toEqual([]);
      expect(keys.size).toBe(names.size);
    }
  });

  it.each(['', 'x:job', 'l:', 'l:abc', 'G:job'])('is not %s', (key) => {
    expect(nameOf(Buffer.from(key))).toBeNull();
  });
});
