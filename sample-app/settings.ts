/** What the environment says. The primary process passes it on to the others. */
export interface Settings {
  /** Of the database that keeps the locks. */
  readonly databaseUrl: string;
  readonly port: number;
  /** Where the archive is kept. */
  readonly dataFolder: string;
  /** A pause after each chunk of lines, in milliseconds: archiving takes a visible little while. */
  readonly chunkPauseMs: number;
}

export function settings(env: NodeJS.ProcessEnv = process.env): Settings {
  const { DATABASE_URL, PORT = '3000', ARCHIVE_FOLDER = '', CHUNK_PAUSE_MS = '80' } = env;
  return {
    ...{ databaseUrl: DATABASE_URL ?? '', dataFolder: ARCHIVE_FOLDER },
    ...{ port: Number(PORT), chunkPauseMs: Number(CHUNK_PAUSE_MS) },
  };
}
