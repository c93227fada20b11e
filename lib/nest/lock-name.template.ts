import { LockConfigError, LockNameError } from '../shared/errors.js';
import { checkName } from '../shared/lock-name.js';

/** Where the values for a template's placeholders come from. */
export interface TemplateSources {
  /** The arguments of the call. */
  readonly args: readonly unknown[];
  /** The parameters of the HTTP route, where there is one. */
  readonly params?: unknown;
  /** The body of the HTTP request, where there is one. */
  readonly body?: unknown;
}

const PLACEHOLDER = /\{([^{}]+)\}/;
/** What may stand between two placeholders but cannot part their values. */
const NO_SEPARATOR = /[0-9A-Za-z%]/;
/** Readable in a value as long as it is no separator of the template. */
const PLAIN = /[0-9A-Za-z_.@-]|[^\0-\x7F]/u;

/**
 * Compiles a lock name with `{placeholders}`. `{id}` is the route parameter `id`; without one, the own property `id`
 * of the first argument that has it, then of the body. `{0}` is the first argument.
 *
 * In values, `%`, the characters that part two placeholders, and all ASCII punctuation but `_ . @ -` are
 * percent-encoded: two different lists of values never make one name.
 * @throws LockConfigError, LockNameError for a template that cannot make names
 */
export function lockNameTemplate(template: string): (sources: TemplateSources) => string {
  const parts = template.split(PLACEHOLDER);
  if (parts.length === 1) checkName(template);
  const texts = parts.filter((_, index) => index % 2 === 0);
  if (texts.some((text) => /[{}]/.test(text))) {
    throw new LockConfigError(`Expected {placeholders} with a name between braces and got '${template}'.`);
  }
  const separators = new Set(texts.slice(1, -1).flatMap((text) => separatorsOf(text, template)));
  return (sources) =>
    parts
      .map((part, index) => (index % 2 === 0 ? part : encode(valueOf(part, sources, template), separators)))
      .join('');
}

function separatorsOf(text: string, template: string): string[] {
  const separators = Array.from(text).filter((character) => !NO_SEPARATOR.test(character));
  if (separators.length > 0) return separators;
  throw new LockConfigError(
    `Expected a separator like ':' between two placeholders and got '${template}': different values could make one name.`,
  );
}

function encode(value: string, separators: ReadonlySet<string>): string {
  return Array.from(value, (character) =>
    PLAIN.test(character) && !separators.has(character) ? character : percent(character),
  ).join('');
}

function percent(character: string): string {
  return Array.from(
    Buffer.from(character),
    (byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`,
  ).join('');
}

function valueOf(placeholder: string, sources: TemplateSources, template: string): string {
  const value = /^\d+$/.test(placeholder) ? sources.args[Number(placeholder)] : named(placeholder, sources);
  if (isScalar(value)) return String(value);
  throw new LockNameError(
    `Expected a string, number, bigint or boolean for {${placeholder}} of the lock name '${template}' and got ${kindOf(value)}.`,
  );
}

function named(key: string, { params, args, body }: TemplateSources): unknown {
  return [params, ...args, body]
    .map((source) => ownProperty(source, key))
    .find((value) => value !== undefined);
}

/** Own and enumerable only: `{constructor}` or `{length}` must not find what every object or array has. */
function ownProperty(source: unknown, key: string): unknown {
  if (typeof source !== 'object' || source === null) return undefined;
  return Object.prototype.propertyIsEnumerable.call(source, key) ? Reflect.get(source, key) : undefined;
}

function isScalar(value: unknown): value is string | number | bigint | boolean {
  return ['string', 'bigint', 'boolean'].includes(typeof value) || Number.isFinite(value);
}

function kindOf(value: unknown): string {
  if (value === null || typeof value === 'number') return String(value);
  return Array.isArray(value) ? 'array' : typeof value;
}
