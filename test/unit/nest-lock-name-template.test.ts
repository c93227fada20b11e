import { describe, expect, it } from 'vitest';
import { LockConfigError, LockNameError } from '../../lib/index.js';
import { lockNameTemplate } from '../../lib/nest/lock-name.template.js';

const fill = (template: string, ...args: unknown[]) => lockNameTemplate(template)({ args });

describe('The template of a lock name', () => {
  it('stays as it is without placeholders', () => {
    expect(fill('nightly report 100%: ü')).toBe('nightly report 100%: ü');
  });

  it('takes {name} from the route first, then from the arguments in order, then from the body', () => {
    const name = lockNameTemplate('site:{site}');
    const args = ['text', { other: 1 }, { site: 'argument' }, { site: 'later' }];
    expect(name({ params: { site: 'route' }, args, body: { site: 'body' } })).toBe('site:route');
    expect(name({ params: { site: undefined }, args, body: { site: 'body' } })).toBe('site:argument');
    expect(name({ args: ['text'], body: { site: 'body' } })).toBe('site:body');
  });

  it('takes {0} from the position, never from an array or an object', () => {
    expect(fill('{1}:{0}', 'a', 7)).toBe('7:a');
    expect(() => fill('{0}', ['x'])).toThrow(LockNameError);
  });

  it.each([
    ['a number', 7, '7'],
    ['zero', 0, '0'],
    ['false', false, 'false'],
    ['a bigint', 2n ** 60n, '1152921504606846976'],
    ['an empty string', '', ''],
    ['a UUID', '9f0c3a52-1b7e-4e3b-9a51-0d6a2c6f0f11', '9f0c3a52-1b7e-4e3b-9a51-0d6a2c6f0f11'],
    ['an address', 'zoë_k@example.org', 'zoë_k@example.org'],
    ['punctuation', 'a b:c/{d}%', 'a%20b%3Ac%2F%7Bd%7D%25'],
  ])('writes %s readably', (_, value, text) => {
    expect(fill('id:{id}', { id: value })).toBe(`id:${text}`);
  });

  it.each([
    ['nothing', undefined, 'undefined'],
    ['null', null, 'null'],
    ['NaN', Number.NaN, 'NaN'],
    ['an array', ['x'], 'array'],
    ['an object', { toString: () => 'x' }, 'object'],
    ['a function', () => 'x', 'function'],
  ])('refuses %s as a value, and says for which placeholder', (_, value, got) => {
    expect(() => fill('id:{id}', { id: value })).toThrow(
      new LockNameError(
        `Expected a string, number, bigint or boolean for {id} of the lock name 'id:{id}' and got ${got}.`,
      ),
    );
  });

  it.each(['constructor', 'length', '__proto__', 'inherited'])('never takes {%s} from a prototype', (key) => {
    const heir = Object.create({ inherited: 'x' }) as object;
    expect(() => fill(`{${key}}`, heir, ['x'], 'text')).toThrow(LockNameError);
  });

  it.each([
    ['{a}:{b}', ['1:2', '3'], ['1', '2:3']],
    ['{a}-{b}', ['1-2', '3'], ['1', '2-3']],
    ['{a}_x_{b}', ['1_x_2', '3'], ['1', '2_x_3']],
    ['{a}→{b}', ['1→2', '3'], ['1', '2→3']],
    ['{a}. {b}', ['1. 2', '3'], ['1', '2. 3']],
    ['{a}:{b}', ['%3A', ''], [':', '']],
    ['{a}:{b}', ['', ':'], [':', '']],
  ])('makes different names of different values: %s', (template, [a, b], [c, d]) => {
    expect(fill(template, { a, b })).not.toBe(fill(template, { a: c, b: d }));
  });

  it('makes different names of all short values over a hostile alphabet', () => {
    const alphabet = ['-', ':', '%', '2', 'D', '{', '→'];
    const words = ['', ...alphabet, ...alphabet.flatMap((x) => alphabet.map((y) => x + y))];
    for (const template of ['{a}-{b}', '{a}:{b}', '{a}2D-{b}', '{a}%:{b}', '{a}→{b}']) {
      const name = lockNameTemplate(template);
      const names = words.flatMap((a) => words.map((b) => name({ args: [{ a, b }] })));
      expect(new Set(names).size).toBe(names.length);
    }
  });

  it.each(['{a}{b}', '{a}x{b}', '{a}3{b}', '{a}%{b}', 'open {a', 'close a}', 'empty {}', '{{a}}'])(
    'refuses %j when it is written, not when it is used',
    (template) => {
      expect(() => lockNameTemplate(template)).toThrow(LockConfigError);
    },
  );

  it('refuses an empty static name when it is written', () => {
    expect(() => lockNameTemplate('')).toThrow(LockNameError);
  });
});
