/** What a newcomer sees first. */
export function help(address: string, pids: readonly (number | undefined)[]): string {
  const commands = [
    [`curl -X POST ${address}/sites/garden/archive`, 'archive one site: about two seconds'],
    [`curl ${address}/sites/garden/report`, 'its report'],
    [`curl ${address}/locks`, 'who holds which lock'],
    [
      `curl -X POST '${address}/storm?archives=30'`,
      '30 at once: one runs per site, the others wait, or get 423',
    ],
    ['kill -9 PID', 'of a holder while another one waits: that one takes over at once'],
  ] as const;
  const width = Math.max(...commands.map(([command]) => command.length));
  const lines = commands.map(([command, does]) => `  ${command.padEnd(width)}   ${does}`);
  return `
The report archiver is at ${address}, in processes ${pids.join(', ')}.
It archives the visits of four sites into daily reports; one process at a time for each site.

${lines.join('\n')}

Ctrl-C ends it.
`;
}
