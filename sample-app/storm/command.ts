/** What the one who typed a command can put right: said without a stack. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
}

/** Runs a command with what was typed after its name. */
export async function command(run: (args: readonly string[]) => Promise<void>): Promise<void> {
  try {
    await run(process.argv.slice(2));
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    console.error(error.message);
    process.exitCode = 1;
  }
}
