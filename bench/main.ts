/**
 * Pairs of acquire and release per second, each contender in turn and several times over, on every server that can be
 * had. Read the ratios: they were measured side by side, and the machine's own speed cancels out.
 *
 *   npm run bench              all servers
 *   npm run bench -- mariadb   one of them
 */
import { startServer, type Flavor } from '../private-server/index.js';
import { contenders, type Contender } from './contenders.js';

const ROUNDS = 5;
const ROUND_MS = 500;
const IN_FLIGHT = 64;

interface Result {
  readonly name: string;
  readonly alone: number;
  readonly together: number;
}

/** Pairs per second with so many at once, over one round. */
async function measure({ pair }: Contender, lanes: number): Promise<number> {
  const end = performance.now() + ROUND_MS;
  let pairs = 0;
  const run = async (lane: number) => {
    for (; performance.now() < end; pairs++) await pair(lane);
  };
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: lanes }, (_, lane) => run(lane)));
  return pairs / ((performance.now() - startedAt) / 1_000);
}

/** Each contender's median, their rounds interleaved. */
async function compare(all: readonly Contender[]): Promise<Result[]> {
  const alone = all.map((): number[] => []);
  const together = all.map((): number[] => []);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [index, contender] of all.entries()) {
      alone[index]!.push(await measure(contender, 1));
      together[index]!.push(await measure(contender, IN_FLIGHT));
    }
  }
  return all.map(({ name }, index) => ({
    name,
    alone: median(alone[index]!),
    together: median(together[index]!),
  }));
}

function median(values: number[]): number {
  return values.sort((one, other) => one - other)[Math.floor(values.length / 2)]!;
}

function figure(value: number, base: number): string {
  return `${Math.round(value)} (${(value / base).toFixed(2)})`;
}

function print(title: string, results: readonly Result[]): void {
  const floor = results[0]!;
  console.log(`\n${title}: pairs per second, and the ratio to ${floor.name}\n`);
  console.log(`${''.padEnd(28)}${'alone'.padStart(16)}${`${IN_FLIGHT} in flight`.padStart(18)}`);
  for (const { name, alone, together } of results) {
    const columns = figure(alone, floor.alone).padStart(16) + figure(together, floor.together).padStart(18);
    console.log(name.padEnd(28) + columns);
  }
}

async function bench(flavor: Flavor): Promise<void> {
  const server = await startServer({ flavor });
  try {
    const all = await contenders(await server.createDatabase());
    print(`${flavor} ${server.version}, no binary log`, await compare(all));
    for (const contender of all) await contender.close();
  } finally {
    await server.stop();
  }
}

const asked = process.argv.slice(2) as Flavor[];
for (const flavor of asked.length > 0 ? asked : (['mysql', 'mariadb'] as const)) await bench(flavor);
