import { cp, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Program } from './server-types.js';
import { cached, feed, run } from './shell.js';

/** The arguments that let root run a server. */
export function asRoot(): string[] {
  return process.getuid?.() === 0 ? ['--user=root'] : [];
}

/** Fills a data directory: a copy of one that is initialised once for each version. */
export async function makeDataDirectory(program: Program, directory: string): Promise<void> {
  const { flavor, version } = program;
  const template = await cached(`data-${flavor}-${version}`, (draft) => initialise(program, draft));
  await cp(template, directory, { recursive: true });
}

async function initialise(program: Program, directory: string): Promise<void> {
  const args = [...program.args, ...asRoot(), `--datadir=${directory}`];
  if (program.flavor === 'mysql') {
    await run(program.command, [...args, '--initialize-insecure', '--innodb-redo-log-capacity=16M']);
  } else {
    await bootstrap(program, args, directory);
  }
}

/** What mariadb-install-db does, which is not in the server's own package. */
async function bootstrap({ command, shareDir }: Program, args: string[], directory: string): Promise<void> {
  const script = (name: string) => readFile(join(shareDir, `${name}.sql`), 'utf8');
  const input = [
    'USE mysql;',
    await script('mysql_system_tables'),
    await script('mysql_performance_tables'),
    // root comes in over loopback TCP with no password, and not by the name of the system's user.
    'SET @auth_root_socket = NULL;',
    await script('mysql_system_tables_data'),
  ];
  await mkdir(join(directory, 'mysql'));
  await feed(command, [...args, '--bootstrap', `--lc-messages-dir=${shareDir}`], input.join('\n'));
}
