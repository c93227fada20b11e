/** What a newcomer sees first. */
export function help(address: string, pids: readonly number[]): string {
  const commands = [
    [`curl -X POST ${address}/sites/garden/archive`, 'archive one site, in about two seconds'],
    [`curl ${address}/sites/garden/report`, 'its report'],
    [`curl ${address}/locks`, 'who holds which lock'],
    [
      `npx tsx sample-app/storm/main.ts 30 ${address}`,
      '30 archives at once: one runs per site, others wait or get 423',
    ],
    [
      `npx tsx sample-app/storm/kill.ts kitchen ${address}`,
      'kill -9 in the middle of an archive: another takes over',
    ],
  ] as const;
  const width = Math.max(...commands.map(([command]) => command.length));
  const lines = commands.map(([command, does]) => `  ${command.padEnd(width)}   ${does}`);
  return `
The report archiver is at ${address}, in processes ${pids.join(', ')}.
It archives the visits of four sites into daily reports; one process at a time for each site.
Try, in another terminal:

${lines.join('\n')}

Ctrl-C ends it.
`;
}
