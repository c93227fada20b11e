import 'reflect-metadata';

/** A method as a decorator sees it. */
export type Method = (this: object, ...args: unknown[]) => unknown;

/** The user's own function beneath all wrappers of a method; wrappers pass it on, as they do all metadata. */
const ORIGIN = Symbol('interlock:origin');

/**
 * Makes a wrapper pass for the method it wraps: name, length, and everything that decorators before and after look for.
 * Without it routes are not found, guards are skipped, and timers vanish without a word.
 */
export function imitate(wrapper: Method, method: Method): void {
  for (const property of ['name', 'length'] as const) {
    Object.defineProperty(wrapper, property, { value: method[property], configurable: true });
  }
  for (const key of Reflect.getOwnMetadataKeys(method)) {
    Reflect.defineMetadata(key, Reflect.getOwnMetadata(key, method), wrapper);
  }
  Reflect.defineMetadata(ORIGIN, originOf(method), wrapper);
}

/** The function at the bottom of a wrapped method; of any other function, itself. */
export function originOf(method: object): object {
  return (Reflect.getOwnMetadata(ORIGIN, method) as object | undefined) ?? method;
}
